package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One claim as the nodes know it: what each of them was asked and has answered, and until when it surely keeps the claim.
 * Thread-safe.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>A ballot is open while its claim is being acquired and while it holds. It is closed once, by a failed attempt, a release or
 * a loss, and its id is never used again. So a release can be repeated for as long as it must be, and may arrive however
 * late: what it ends is unwanted.
 *
 * <p>A closed ballot goes on until it is <em>settled</em>: each acquisition has been answered or has failed, and each node that
 * may keep the claim has confirmed its release, or has refused it. A grant that arrives late is released. Where something may
 * arrive after the release, that leaves a tombstone, which refuses it. A settled ballot that is released again, because nodes have
 * refused that before, is not settled until they have answered.
 *
 * <p>A vote lasts from the sending of its request for the lease. A renewal prolongs it only while it lasts. A node that says
 * that it does not keep the claim although its vote lasts has broken the lock, or has lost its data; so has one that must have
 * granted the claim anew, and one that may have. It is <em>barred</em>: until that vote would have ended it is neither asked to
 * grant the claim again nor counted, so that no break is undone.
 */
final class Ballot {

    /** What one node has answered to an acquisition. */
    enum Vote {
        COUNTED,
        /** Granted, but the node may have forgotten a grant that still lasts. */
        YOUNG,
        BUSY,
        /** The node did not keep the claim any more, and has granted it anew; or nobody can tell. It is barred, or all is over. */
        LOST
    }

    /** The answer of a node, with the counter of its grant, or the time after which it may be free. */
    record Answer(Vote vote, NodeAttempt attempt) {

        long counter() {
            return attempt.attempt() instanceof Granted granted ? granted.counter() : 0;
        }

        Duration retryAfter() {
            return attempt.attempt() instanceof Attempt.Busy busy ? busy.retryAfter() : Duration.ZERO;
        }
    }

    /** Is notified of the release at each node, once for each. */
    interface Closing {

        void released(Node node, boolean wasOwner);

        /** The node has not confirmed it yet; it is owed to the node. */
        void unconfirmed(Node node, String why);
    }

    /** For a release that nobody waits for. */
    static final Closing NOBODY = new Closing() {
        @Override
        public void released(Node node, boolean wasOwner) {}

        @Override
        public void unconfirmed(Node node, String why) {}
    };

    private final Nodes nodes;
    private final MonotonicClock clock;
    private final ClaimId id;
    /** As it is released. */
    private Claim claim;

    private final Consumer<Boolean> settled;
    private final NodeView[] views;
    private long token;
    private boolean isOfAnother;
    private boolean closed;
    /** Whether it has held, and at some time no majority of its votes lasted any more. Then nothing revives it. */
    private boolean lapsed;

    private boolean isSettled;
    private boolean clean = true;

    /**
     * @param claim the claim with the id that it has at the nodes
     * @param settled is called when it is settled, and when it is not any more
     */
    Ballot(Nodes nodes, MonotonicClock clock, Claim claim, Consumer<Boolean> settled) {
        this.nodes = nodes;
        this.clock = clock;
        this.id = claim.id();
        this.claim = claim;
        this.settled = settled;
        this.views = new NodeView[nodes.size()];
        Arrays.setAll(views, i -> new NodeView());
    }

    ClaimId id() {
        return id;
    }

    /**
     * The claim of another client, which any node may keep. Wherever it is ended it leaves a tombstone, so that nothing which its
     * client sends at that time, not knowing that it is broken, takes it back.
     */
    synchronized Ballot ofAnother() {
        isOfAnother = true;
        return this;
    }

    /** The same claim with the id that it has at the nodes. */
    Claim inner(Claim outer) {
        return new Claim(
                outer.name(), id, outer.permits(), outer.limit(), outer.lease(), outer.owner(), outer.repeated());
    }

    // ---- holding ----

    /**
     * A majority has granted it, and has a counter that is at least as large as this token.
     *
     * @return for how long after {@code since} it is held; null if that is over, or it has been closed
     */
    synchronized @Nullable Duration hold(long newToken, long since) {
        token = newToken;
        return heldAfter(since);
    }

    /** The token of the claim if it holds or has held; else 0. */
    synchronized long token() {
        return token;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** Whether any vote lasts, or has lasted until this time. */
    synchronized boolean hasVotes(long now) {
        return Arrays.stream(views).anyMatch(view -> view.isLive(now));
    }

    /** Whether the time of a majority is over, also if some of its nodes have ended the claim before. */
    synchronized boolean hasLapsed() {
        return hasLapsed(clock.nanoTime());
    }

    /**
     * Whether it has held, and is neither closed nor over. Some of its nodes may have ended it, so that it needs others before
     * it is held by a majority again; what has no time left on a majority is over for good.
     */
    synchronized boolean mayHold() {
        return !closed && token != 0 && !hasLapsed();
    }

    // To be called whenever an answer arrives: what has lapsed for a moment may have been granted to others in it.
    private boolean hasLapsed(long now) {
        lapsed |= token != 0
                && Arrays.stream(views).filter(view -> view.wouldLast(now)).count() < nodes.majority();
        return lapsed;
    }

    /** Whether it is sure that no majority keeps it any more: its time is over, or too many nodes have ended it. */
    synchronized boolean isEnded() {
        long now = clock.nanoTime();
        long ended = Arrays.stream(views).filter(view -> view.isBarred(now)).count();
        return hasLapsed(now) || nodes.size() - ended < nodes.majority();
    }

    synchronized boolean isLive(Node node, long now) {
        return views[node.index()].isLive(now);
    }

    /** For how long after {@code since} a majority keeps it; null if it does not. */
    synchronized @Nullable Duration heldAfter(long since) {
        long now = clock.nanoTime();
        long[] lasting = Arrays.stream(views)
                .filter(view -> view.surelyLasts(now))
                .mapToLong(view -> view.lastsAfter(since))
                .sorted()
                .toArray();
        return closed || hasLapsed(now) || lasting.length < nodes.majority()
                ? null
                : Duration.ofNanos(lasting[lasting.length - nodes.majority()]);
    }

    /** Notes that a node has renewed its vote. Returns false if the vote had ended before, so that this proves nothing. */
    synchronized boolean renewed(Node node, long sent, Granted granted) {
        NodeView view = views[node.index()];
        if (hasLapsed(clock.nanoTime()) || !view.isLive(sent) || view.isAnother(granted, token)) {
            return false;
        }
        view.vote(sent, granted);
        return true;
    }

    /** How often the node has granted until now. */
    synchronized int grants(Node node) {
        return views[node.index()].grants;
    }

    /**
     * Notes that a node does not keep the claim.
     *
     * @param grants how often it had granted when it was asked; if it has granted since, this may be older
     * @param broken whether it says that somebody has released the claim
     */
    synchronized void isGone(Node node, int grants, boolean broken) {
        NodeView view = views[node.index()];
        if (view.grants == grants) {
            view.isGone(clock.nanoTime(), broken);
        }
    }

    /** Whether a node that would still keep the claim says that somebody has released it. */
    synchronized boolean isBroken() {
        long now = clock.nanoTime();
        return Arrays.stream(views).anyMatch(view -> view.isBroken(now));
    }

    /** Whether the node must not be asked to grant the claim again. */
    synchronized boolean isBarred(Node node, long now) {
        return views[node.index()].isBarred(now);
    }

    /** Whether the node may keep more permits than these, because it has not answered to a downgrade. */
    synchronized boolean keepsMore(Node node, int permits) {
        return views[node.index()].permits > permits;
    }

    /** Whether the node has an acquisition to answer. */
    synchronized boolean isAsked(Node node) {
        return views[node.index()].open > 0;
    }

    /** Whether some node has an acquisition to answer. */
    synchronized boolean isAsked() {
        return Arrays.stream(views).anyMatch(view -> view.open > 0);
    }

    // ---- acquiring ----

    /**
     * Acquires at a node.
     *
     * @param outer the claim with the permits, the lease and the owner that are wanted
     * @param sent from when the vote counts
     */
    void acquire(Node node, Claim outer, long counter, boolean raise, long sent, Reply<Answer> reply) {
        boolean refused;
        Call call;
        synchronized (this) {
            refused = closed;
            NodeView view = views[node.index()];
            view.open += refused ? 0 : 1;
            call = new Call(node, sent, outer.permits(), raise ? counter : 0, view.isLive(sent), reply);
        }
        if (refused) {
            reply.failed(StoreException.unavailable(Effect.NONE, "it was released meanwhile", null));
        } else {
            // When the lease is over, a vote is worth nothing.
            Duration useful = outer.lease().minusNanos(clock.nanoTime() - sent);
            node.acquire(inner(outer), counter, raise, useful, call);
        }
    }

    /** One acquisition at a node. */
    private final class Call implements Reply<NodeAttempt> {

        private final Node node;
        private final NodeView view;
        private final long sent;
        private final int permits;
        private final long raisedTo;
        private final boolean wasLive;
        private final int grantsBefore;
        private final Reply<Answer> reply;
        private boolean ended;

        private Call(Node node, long sent, int permits, long raisedTo, boolean wasLive, Reply<Answer> reply) {
            this.node = node;
            this.view = views[node.index()];
            this.sent = sent;
            this.permits = permits;
            this.raisedTo = raisedTo;
            this.wasLive = wasLive;
            this.grantsBefore = view.grants;
            this.reply = reply;
        }

        @Override
        public void answered(NodeAttempt attempt) {
            Vote vote;
            Claim unwanted;
            synchronized (Ballot.this) {
                end();
                vote = vote(attempt);
                // A release that is on its way ends this grant, or says that it has found none.
                boolean isUnwanted = view.granted && view.releases == 0 && (closed || lapsed);
                unwanted = isUnwanted ? beginRelease(view, lapsed) : null;
            }
            sendRelease(node, unwanted);
            settle();
            reply.answered(new Answer(vote, attempt));
        }

        private Vote vote(NodeAttempt attempt) {
            if (!(attempt.attempt() instanceof Granted granted)) {
                isGone(node, grantsBefore, false);
                return Vote.BUSY;
            }
            long now = clock.nanoTime();
            boolean counts = node.counts(attempt);
            if (wasLive && (!counts || view.isAnother(granted, Math.max(raisedTo, token)))) {
                view.isGone(now, false);
            }
            view.granted = true;
            view.permits = permits;
            view.grants++;
            if (hasLapsed(now) || view.isBarred(now)) {
                return Vote.LOST;
            }
            if (counts) {
                view.vote(sent, granted);
            }
            return counts ? Vote.COUNTED : Vote.YOUNG;
        }

        @Override
        public void failed(StoreException cause) {
            Claim unwanted;
            synchronized (Ballot.this) {
                end();
                boolean unknown = cause.effect() == Effect.UNKNOWN;
                view.unsure |= unknown;
                clean &= !unknown;
                if (cause instanceof KindConflictException) {
                    isGone(node, grantsBefore, false);
                }
                unwanted = closed && unknown ? beginRelease(view, true) : null;
            }
            sendRelease(node, unwanted);
            settle();
            reply.failed(cause);
        }

        @Override
        public void overdue() {
            Claim unwanted;
            synchronized (Ballot.this) {
                view.slow |= !ended;
                unwanted = closed && !ended && view.releases == 0 ? beginRelease(view, true) : null;
            }
            sendRelease(node, unwanted);
            reply.overdue();
        }

        private void end() {
            ended = true;
            view.open--;
            view.slow &= view.open > 0;
        }
    }

    // ---- closing ----

    /** Closes it with the lease, which tombstones last for, that the claim has now. */
    void release(Claim outer, Closing closing) {
        synchronized (this) {
            claim = inner(outer);
        }
        close(outer.repeated(), false, closing);
    }

    /**
     * Closes it, and releases it wherever it may be kept. A ballot that is closed already is released again where that has not
     * been confirmed.
     *
     * @param again whether other copies of its acquisition may be on their way, so that all nodes must leave a tombstone
     * @param patient whether nodes that have not answered yet are left until they have, or are overdue
     */
    void close(boolean again, boolean patient, Closing closing) {
        List<Node> free = new ArrayList<>();
        Map<Node, Claim> kept = new LinkedHashMap<>();
        synchronized (this) {
            boolean repeated = again || closed;
            closed = true;
            for (Node node : nodes) {
                NodeView view = views[node.index()];
                // Also a node that has confirmed a release: the claim's client may have given it again.
                view.granted |= isOfAnother;
                if (view.mayKeep() && !(patient && view.isWorthWaitingFor())) {
                    kept.put(node, beginRelease(view, repeated));
                } else {
                    free.add(node);
                }
            }
        }
        settle();
        kept.forEach((node, sent) -> sendRelease(node, sent, closing));
        free.forEach(node -> closing.released(node, false));
    }

    /** Closes it long after all its votes have ended, when there is nothing to release. */
    void forget() {
        synchronized (this) {
            closed = true;
        }
        settle();
    }

    // Under the lock, so that it is not settled meanwhile.
    private Claim beginRelease(NodeView view, boolean again) {
        view.releases++;
        boolean leavesTombstone = again || isOfAnother || claim.repeated() || view.needsTombstone();
        clean &= !leavesTombstone;
        return leavesTombstone ? claim.again() : claim;
    }

    private void sendRelease(Node node, @Nullable Claim sent) {
        if (sent != null) {
            sendRelease(node, sent, NOBODY);
        }
    }

    private void sendRelease(Node node, Claim sent, Closing closing) {
        if (nodes.isWorthAsking(node)) {
            node.release(sent, new Confirmation(node, sent, closing));
        } else {
            owe(node);
            closing.unconfirmed(node, "it did not answer " + Node.MISSES + " calls in a row");
        }
    }

    /** The answer of a node to the release. */
    private final class Confirmation implements Reply<Released> {

        private final Node node;
        private final boolean leavesTombstone;
        private final Closing closing;
        private final int grantsBefore;
        private final AtomicBoolean reported = new AtomicBoolean();

        private Confirmation(Node node, Claim sent, Closing closing) {
            this.node = node;
            this.leavesTombstone = sent.repeated();
            this.closing = closing;
            this.grantsBefore = grants(node);
        }

        @Override
        public void answered(Released released) {
            confirmed(node, leavesTombstone || !released.wasOwner(), grantsBefore);
            if (reported.compareAndSet(false, true)) {
                closing.released(node, released.wasOwner());
            }
        }

        @Override
        public void failed(StoreException cause) {
            owe(node);
            unconfirmed(String.valueOf(cause.getMessage()));
        }

        @Override
        public void overdue() {
            unconfirmed("no answer in time");
        }

        private void unconfirmed(String why) {
            if (reported.compareAndSet(false, true)) {
                closing.unconfirmed(node, why);
            }
        }
    }

    // One release is owed, however often the claim is released meanwhile.
    private void owe(Node node) {
        Claim again;
        boolean isOwed;
        int grants;
        synchronized (this) {
            clean = false;
            again = claim.again(); // a request that is on its way may arrive after the release
            NodeView view = views[node.index()];
            isOwed = view.owed;
            view.owed = true;
            view.releases -= isOwed ? 1 : 0;
            grants = view.grants;
        }
        if (!isOwed) {
            node.owed().owe(again, confirmed -> {
                synchronized (this) {
                    views[node.index()].owed = false;
                }
                if (confirmed) {
                    confirmed(node, true, grants);
                } else {
                    refused(node);
                }
            });
        }
        settle();
    }

    // The node may keep the claim, which is released there if it is released again.
    private void refused(Node node) {
        synchronized (this) {
            views[node.index()].releases--;
        }
        settle();
    }

    // A node that has not found the claim has left a tombstone, too. If it has granted it since the release was
    // sent, that grant may be younger than the release.
    private void confirmed(Node node, boolean hasTombstone, int grantsBefore) {
        Claim once = null;
        synchronized (this) {
            clean &= !hasTombstone;
            NodeView view = views[node.index()];
            view.releases--;
            if (hasTombstone && view.granted && view.grants != grantsBefore) {
                once = beginRelease(view, true);
            } else {
                view.granted = false;
            }
        }
        sendRelease(node, once);
        settle();
    }

    /** Whether something of it may be left at a node, or on its way there. */
    synchronized boolean mayBeLeft() {
        return Arrays.stream(views).anyMatch(NodeView::mayKeep);
    }

    /** Notes that others may have seen it as held, so that they may end it at any time. */
    synchronized void wasSeen() {
        clean = false;
    }

    /** Whether each request of it was answered and no node keeps a tombstone of its id, so that the id can be used again. */
    synchronized boolean isClean() {
        return clean;
    }

    private void settle() {
        boolean now;
        synchronized (this) {
            boolean open = Arrays.stream(views).anyMatch(view -> view.open > 0 || view.releases > 0);
            now = closed && !open;
            if (now == isSettled) {
                return;
            }
            isSettled = now;
        }
        settled.accept(now);
    }
}
