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
 * What this client knows of one of its claims: its node, and whether it waits or holds.
 *
 * <pre>
 *   SENT ---- admitted ----> HELD ---- released, lease expired, node deleted ----> OVER
 *     |  \--- waits -----> WAITING ---- admitted ----> HELD
 *     |                       \---- released, node deleted, session ended ----> OVER
 *     \---- refused, busy ----> OVER
 * </pre>
 *
 * A claim whose reply was lost stays SENT until it is sent again or released. OVER is final. Thread-safe.
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
    private final String parent;
    private Claim claim;
    private State state = State.SENT;
    private @Nullable NodeName node;
    private @Nullable String path;
    private @Nullable OneShotListener listener;
    private long session;
    private long counter;
    private long expires;
    private boolean shrunk;
    private boolean marked;
    private boolean releasing;
    private @Nullable String watched;
    private int ahead;
    private int position;

    public ClaimState(Claim claim, String parent, @Nullable OneShotListener listener) {
        this.name = claim.name();
        this.id = claim.id();
        this.parent = parent;
        this.claim = claim;
        this.listener = listener;
    }

    public LockName name() {
        return name;
    }

    public ClaimId id() {
        return id;
    }

    public String parent() {
        return parent;
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
        return path;
    }

    public synchronized long session() {
        return session;
    }

    public synchronized long counter() {
        return counter;
    }

    public synchronized @Nullable OneShotListener listener() {
        return listener;
    }

    /** Replaces the listener. The previous one is not notified any more. */
    public synchronized void replaceListener(OneShotListener other) {
        listener = other;
    }

    /**
     * Records the node that was created or found. A counter that is known already is kept, because the node of a
     * shrunk grant is younger than the grant.
     */
    public synchronized void setNode(NodeName known, String itsPath, long inSession, long zxid) {
        node = known;
        path = itsPath;
        session = inSession;
        counter = counter == 0 ? zxid : counter;
    }

    /** Records that the node is about to be replaced by one with fewer permits, so that it may be either from now on. */
    public synchronized void beginShrink() {
        claim = claim.again();
    }

    /**
     * Records what the claim's node was found to be: the known one, or the one with fewer permits that has replaced it. A
     * list that was taken before the replacement changes nothing.
     */
    public synchronized void adopt(NodeName found) {
        if (node == null || found.permits() < node.permits()) {
            node = found;
            path = parent + '/' + found.text();
            shrunk = true;
            claim = claim.withPermits(found.permits());
        }
    }

    /**
     * Records that the claim is admitted. If it holds already, its lease does not change.
     *
     * @return whether it holds; false if it was released in the meantime
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

    /** Records that the claim waits in the queue. Returns false if it was released in the meantime. */
    public synchronized boolean queue() {
        if (state == State.OVER) {
            return false;
        }
        state = State.WAITING;
        return true;
    }

    /** Ends the claim. Returns false if it was over already. */
    synchronized boolean end() {
        boolean ended = state != State.OVER;
        state = State.OVER;
        return ended;
    }

    /** Renews the claim: the lease starts again now, but it never ends earlier than before. */
    public synchronized void renew(Claim requested, long now) {
        claim = new Claim(
                claim.name(),
                claim.id(),
                claim.permits(),
                claim.limit(),
                requested.lease(),
                requested.owner(),
                claim.repeated() || requested.repeated());
        if (state == State.HELD) {
            expires = Math.max(expires, now + requested.lease().toNanos());
        }
    }

    /** Whether the requested owner or lease differs from the recorded one. */
    public synchronized boolean differsFrom(Claim requested) {
        OwnerInfo owner = claim.owner();
        return !owner.equals(requested.owner()) || !claim.lease().equals(requested.lease());
    }

    /** When the lease ends. The value has no meaning unless the claim holds. */
    public synchronized long expires() {
        return expires;
    }

    /**
     * How long the holder may rely on the grant: the rest of the lease, but not longer than the session is
     * guaranteed to live.
     */
    public synchronized Duration reportedLease(long now, Duration guaranteedLifetime) {
        long left = Math.max(1, expires - now);
        return left < guaranteedLifetime.toNanos() ? Duration.ofNanos(left) : guaranteedLifetime;
    }

    /** The data that the node should have. */
    public synchronized NodeData data() {
        return new NodeData(claim.lease(), shrunk ? counter : 0, marked, claim.owner());
    }

    /** Marks a granted claim, so that the next one in the queue notices. Returns false if it was marked before. */
    public synchronized boolean mark() {
        boolean changed = !marked;
        marked = true;
        return changed;
    }

    /** Records that the claim is being released, so that the deletion of its node is no loss. */
    public synchronized void beginRelease() {
        releasing = true;
    }

    /** Whether somebody has asked to release it. */
    public synchronized boolean isReleasing() {
        return releasing;
    }

    /** Whether the claim holds, and nobody has asked to release it. */
    public synchronized boolean isHeld() {
        return state == State.HELD && !releasing;
    }

    /**
     * Records the place in the queue when it was listed.
     *
     * @param nodes how many nodes were ahead
     * @param waiters how many of them waited
     */
    public synchronized void setPlace(int nodes, int waiters) {
        ahead = nodes;
        position = waiters;
    }

    /** How many claims waited before this one when the queue was last listed. It can only have become less. */
    public synchronized int position() {
        return position;
    }

    /** The watched path; null if there is none. */
    public synchronized @Nullable String watched() {
        return watched;
    }

    /** Records the watched path. Returns false if this path is watched already. */
    public synchronized boolean setWatch(String path) {
        if (path.equals(watched)) {
            return false;
        }
        watched = path;
        return true;
    }

    /** Forgets a watch that has fired or failed. Returns whether it was the current watch of a waiting claim. */
    public synchronized boolean clearWatch(String path) {
        if (!path.equals(watched)) {
            return false;
        }
        watched = null;
        return state == State.WAITING;
    }

    /** Whether this is a mutex with exactly one node ahead in the last list. */
    public synchronized boolean isNext() {
        return ahead == 1 && claim.limit() == 1;
    }
}
