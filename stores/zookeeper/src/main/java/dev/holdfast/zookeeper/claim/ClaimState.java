package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What this client knows of one of its claims: its node, and what it is.
 *
 * <pre>
 *   SENT ---- admitted ----> HELD ---- released, lease over, node gone ----> OVER
 *     |  \--- waits -----> WAITING ---- admitted ----> HELD
 *     |                       \---- released, node or session gone ----> OVER
 *     \---- refused, busy ----> OVER
 * </pre>
 *
 * A claim whose reply was lost stays SENT until it is sent again or released. Thread-safe; OVER is final.
 */
public final class ClaimState {

    public enum State {
        SENT,
        WAITING,
        HELD,
        OVER
    }

    private final LockName name;
    private final ClaimId id;
    private final String folder;
    private Claim claim;
    private State state = State.SENT;
    private @Nullable NodeName node;
    private @Nullable OneShotListener ear;
    private long session;
    private long counter;
    private long expires;
    private boolean shrunk;
    private boolean marked;
    private @Nullable String watched;
    private boolean ownWatched;
    private int ahead;

    public ClaimState(Claim claim, String folder, @Nullable OneShotListener ear) {
        this.name = claim.name();
        this.id = claim.id();
        this.folder = folder;
        this.claim = claim;
        this.ear = ear;
    }

    public LockName name() {
        return name;
    }

    public ClaimId id() {
        return id;
    }

    public String folder() {
        return folder;
    }

    public synchronized Claim claim() {
        return claim;
    }

    public synchronized State state() {
        return state;
    }

    public synchronized @Nullable NodeName node() {
        return node;
    }

    /** The path of the node; null if it is not known. */
    public synchronized @Nullable String path() {
        return node == null ? null : folder + '/' + node.text();
    }

    public synchronized long session() {
        return session;
    }

    public synchronized long counter() {
        return counter;
    }

    public synchronized @Nullable OneShotListener ear() {
        return ear;
    }

    /** Somebody else listens from now on; the one before hears nothing more. */
    public synchronized void hear(OneShotListener other) {
        ear = other;
    }

    /** The node was made, or found. A number that is known already stays: a shrunk grant has a younger node. */
    public synchronized void found(NodeName found, long inSession, long zxid) {
        node = found;
        session = inSession;
        counter = counter == 0 ? zxid : counter;
    }

    /** The node was replaced by one with fewer permits. */
    public synchronized void shrinkTo(NodeName smaller) {
        node = smaller;
        shrunk = true;
        claim = claim.withPermits(smaller.permits());
    }

    /**
     * It is admitted, perhaps for the second time.
     *
     * @return whether it holds: not if it was released meanwhile
     */
    public synchronized boolean hold(long now) {
        if (state == State.OVER) {
            return false;
        }
        if (state != State.HELD) {
            state = State.HELD;
            expires = now + claim.lease().toNanos();
        }
        return true;
    }

    /** It has a place in the queue. Returns false if it was released meanwhile. */
    public synchronized boolean queue() {
        if (state == State.OVER) {
            return false;
        }
        state = State.WAITING;
        return true;
    }

    /** Returns whether it was not over before. */
    synchronized boolean end() {
        boolean ended = state != State.OVER;
        state = State.OVER;
        return ended;
    }

    /** A renewal: the lease counts from now on, unless it was longer. */
    public synchronized void renew(Claim asked, long now) {
        claim = new Claim(
                claim.name(),
                claim.id(),
                claim.permits(),
                claim.limit(),
                asked.lease(),
                asked.owner(),
                claim.repeated() || asked.repeated());
        if (state == State.HELD) {
            expires = Math.max(expires, now + asked.lease().toNanos());
        }
    }

    /** Whether its owner or lease are others than what was written down. */
    public synchronized boolean differsFrom(Claim asked) {
        OwnerInfo owner = claim.owner();
        return !owner.equals(asked.owner()) || !claim.lease().equals(asked.lease());
    }

    /** When its lease ends; meaningless unless it is held. */
    public synchronized long expires() {
        return expires;
    }

    /** How long the holder may rely on the grant: as long as the lease, but not longer than the session surely lives. */
    public synchronized Duration told(long now, Duration sure) {
        long left = Math.max(1, expires - now);
        return left < sure.toNanos() ? Duration.ofNanos(left) : sure;
    }

    /** What its node is to hold. */
    public synchronized NodeData data() {
        return new NodeData(claim.lease(), shrunk ? counter : 0, marked, claim.owner());
    }

    /** It waited and was granted; those behind it are to know. Returns false if they do. */
    public synchronized boolean mark() {
        boolean news = !marked;
        marked = true;
        return news;
    }

    /** It was seen in the queue behind so many. */
    public synchronized void seenBehind(int nodes) {
        ahead = nodes;
    }

    /** What it watches from now on; false if it does already. */
    public synchronized boolean watch(String path) {
        if (path.equals(watched)) {
            return false;
        }
        watched = path;
        return true;
    }

    /** The watch on its own node must be set; false if it is. */
    public synchronized boolean watchItself() {
        boolean news = !ownWatched;
        ownWatched = true;
        return news;
    }

    public synchronized void ownWatchIsUsedUp() {
        ownWatched = false;
    }

    /** A watch is used up. Returns whether it was the present one of a claim that waits. */
    public synchronized boolean watchIsUsedUp(String path) {
        if (!path.equals(watched)) {
            return false;
        }
        watched = null;
        return state == State.WAITING;
    }

    /** Whether just one node was ahead when it was seen last, and it is the turn of this one if that node is gone. */
    public synchronized boolean isNext() {
        return ahead == 1 && claim.limit() == 1;
    }
}
