package dev.holdfast.quorum;

import dev.holdfast.quorum.Votes.State;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * One attempt to acquire at all nodes.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>All nodes are asked at once. When a majority of them has granted, and is counted, the token is the largest of their
 * counters. It is handed out when a majority has a counter that is at least as large; a node whose counter is smaller is
 * asked to raise it. Since each majority has a node in common with each other, the next exclusive grant of the name has a
 * larger counter at some node, and so a larger token.
 *
 * <p>When a majority cannot be reached any more, the {@link Ballot} is closed, and what was granted is released before the
 * outcome is known. A claim that this client holds already, as in a repeated request or a downgrade, is not released by a
 * failure, except if a majority says that others hold.
 *
 * <pre>
 *                    +--- counters differ: raise --+
 *                    v                             |
 *   VOTING --- a majority has granted -------------+---- a majority has the token ---> granted
 *     |                                            |
 *     +---- a majority cannot be reached ----------+---- RELEASING ---- all answered or overdue ---> busy or failed
 * </pre>
 */
final class Acquisition {

    private static final Attempt RELEASED = new Attempt.Busy(Duration.ZERO);

    private final Nodes nodes;
    private final Ballot ballot;
    private final Claim claim;
    private final Votes votes;
    private final CompletableFuture<Attempt> result = new CompletableFuture<>();
    /** Whether this client holds the claim already. */
    private final boolean isHeld;
    /** The counter that the nodes are asked for: the time, so that they agree, or the token that the claim has. */
    private final long wanted;

    private final long begun;
    private long token;
    private boolean over;
    private boolean failed;

    /** @param ballot new, or of a claim that is held */
    Acquisition(Nodes nodes, MonotonicClock clock, Ballot ballot, Claim claim) {
        this.nodes = nodes;
        this.ballot = ballot;
        this.claim = claim;
        this.votes = new Votes(nodes);
        this.begun = clock.nanoTime();
        this.token = ballot.token();
        this.isHeld = token != 0;
        this.wanted = isHeld ? token : clock.epochMicros();
    }

    CompletionStage<Attempt> result() {
        return result;
    }

    /** The result for a request that came later. Its caller counts the lease from then. */
    CompletionStage<Attempt> resultFor(long laterRequest) {
        Duration later = Duration.ofNanos(laterRequest - begun);
        return result.thenApply(attempt -> attempt instanceof Granted granted ? shortened(granted, later) : attempt);
    }

    boolean isDone() {
        return result.isDone();
    }

    void run() {
        boolean[] worth = nodes.worthAsking();
        Runnable next;
        synchronized (this) {
            for (Node node : nodes) {
                if (isHeld && ballot.isBarred(node, begun)) {
                    votes.set(node, State.BUSY, "the claim was ended there");
                } else if (worth[node.index()]) {
                    votes.set(node, State.PENDING, "no answer yet");
                }
            }
            List<Node> asked = votes.in(State.PENDING);
            // So few nodes may be worth asking that none of them decides.
            next = asked.isEmpty() ? decide() : () -> asked.forEach(this::ask);
        }
        next.run();
    }

    /** The claim is released: there will be no grant, as if the release had come first. */
    void end() {
        synchronized (this) {
            if (over) {
                return;
            }
            over = true;
            failed = true;
        }
        result.complete(RELEASED);
    }

    private static Attempt shortened(Granted granted, Duration by) {
        boolean isOver = granted.lease().compareTo(by) <= 0;
        return new Granted(
                granted.counter(), isOver ? Duration.ZERO : granted.lease().minus(by));
    }

    // What holds is not granted anew where it was lost: there, its counter would be larger than before.
    private void ask(Node node) {
        synchronized (this) {
            if (failed) {
                return; // the nodes that were asked before have decided it
            }
        }
        boolean anew = isHeld && !ballot.isLive(node, begun);
        ballot.acquire(node, claim, wanted, anew, begun, new Voting(node));
    }

    /** The answer of one node. */
    private final class Voting implements Reply<Ballot.Answer> {

        private final Node node;

        private Voting(Node node) {
            this.node = node;
        }

        // Also an answer that was overdue counts.
        @Override
        public void answered(Ballot.Answer answer) {
            next(() -> votes.answered(node, answer));
        }

        @Override
        public void failed(StoreException cause) {
            next(() -> votes.failed(node, cause));
        }

        @Override
        public void overdue() {
            next(() -> {
                if (votes.isUnderWay(node)) {
                    votes.set(node, State.OVERDUE, "no answer in time");
                }
            });
        }

        private void next(Runnable change) {
            Runnable next;
            synchronized (Acquisition.this) {
                if (over) {
                    return;
                }
                change.run();
                next = decide();
            }
            next.run();
        }
    }

    private Runnable decide() {
        int majority = nodes.majority();
        int pending = votes.count(State.PENDING);
        int granted = votes.granted();
        if (granted >= majority) {
            token = token == 0 ? votes.largestCounter() : token;
            List<Node> below = votes.below(token);
            int agreed = votes.count(State.COUNTED) - below.size();
            return isHeld || agreed >= majority ? succeed() : raise(below);
        }
        if (granted + pending >= majority) {
            return () -> {};
        }
        if (votes.answered() < majority && votes.answered() + pending >= majority) {
            return () -> {}; // the others decide whether the name is busy or the nodes are out of reach
        }
        List<Node> skipped = votes.in(State.SKIPPED);
        return votes.answered() < majority && !skipped.isEmpty() ? askAlso(skipped) : fail("");
    }

    // A node that has left the rotation may be back, and those that are in it are not enough.
    private Runnable askAlso(List<Node> skipped) {
        skipped.forEach(node -> votes.set(node, State.PENDING, "no answer yet"));
        return () -> skipped.forEach(this::ask);
    }

    private Runnable raise(List<Node> below) {
        below.forEach(node -> votes.set(node, State.RAISING, "no answer yet to the raising of its counter"));
        return () -> below.forEach(node -> ballot.acquire(node, claim, token, true, begun, new Voting(node)));
    }

    private Runnable succeed() {
        Duration lease = ballot.hold(token, begun);
        if (lease == null) {
            return fail("; granted, but so late that the lease was over");
        }
        over = true;
        return () -> result.complete(new Granted(token, lease));
    }

    private Runnable fail(String why) {
        over = true;
        failed = true;
        if (ballot.isClosed()) {
            return () -> result.complete(RELEASED);
        }
        // Others may be at nodes that do not keep the claim, in an attempt that cannot succeed while it is held.
        if (isHeld && !(votes.isInUse() && ballot.isEnded())) {
            boolean mayHaveChanged = votes.mayHaveHadEffect() || ballot.isAsked();
            Effect effect = mayHaveChanged && !votes.isRefused() ? Effect.UNKNOWN : Effect.NONE;
            StoreException failure = votes.failure(claim, effect, why);
            return () -> result.completeExceptionally(failure);
        }
        if (token != 0) {
            ballot.wasSeen();
        }
        return () -> ballot.close(isHeld, !isHeld, new Releasing(why));
    }

    /** Waits for the releases of what was granted. */
    private final class Releasing implements Ballot.Closing {

        private final String why;
        private int left = nodes.size();

        private Releasing(String why) {
            this.why = why;
        }

        @Override
        public void released(Node node, boolean wasOwner) {
            ended();
        }

        @Override
        public void unconfirmed(Node node, String cause) {
            ended();
        }

        private void ended() {
            synchronized (Acquisition.this) {
                if (--left > 0) {
                    return;
                }
            }
            StoreException conflict = why.isEmpty() ? votes.conflict() : null;
            Attempt.Busy busy = why.isEmpty() ? votes.busy() : null;
            if (conflict != null) {
                result.completeExceptionally(conflict);
            } else if (busy != null) {
                result.complete(busy);
            } else {
                Effect effect = ballot.mayBeLeft() ? Effect.UNKNOWN : Effect.NONE;
                result.completeExceptionally(votes.failure(claim, effect, why));
            }
        }
    }
}
