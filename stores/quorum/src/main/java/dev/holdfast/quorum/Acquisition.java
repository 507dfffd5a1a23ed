package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
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
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

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
 * <p>When a majority cannot be reached any more, whatever was granted is released before the outcome is known; what a node
 * has not answered by then is owed to it. A claim that this client holds already, as in a repeated request or a downgrade, is
 * never released by a failure.
 *
 * <p>The engine asks again with the same claim. A node that may still get the release of an earlier attempt does not vote.
 *
 * <p>States of a vote: PENDING, then GRANTED (counted or not), BUSY, FAILED, or OVERDUE; a node that is not asked is SKIPPED.
 * A GRANTED vote is RAISING while its counter is raised. Arbitrary: a reply that comes after the decision counts for
 * the holding, or is released.
 */
final class Acquisition {

    private enum State {
        PENDING,
        SKIPPED,
        GRANTED,
        RAISING,
        BUSY,
        FAILED,
        OVERDUE
    }

    private static final class Vote {
        private State state = State.SKIPPED;
        private boolean asked;
        private boolean counted;
        private long counter;
        private long sent;
        private @Nullable Granted granted;
        private Duration retryAfter = Duration.ZERO;
        private @Nullable StoreException failure;
        private String text = "not asked, because it did not answer " + Node.MISSES + " calls in a row";
    }

    private final Nodes nodes;
    private final Book book;
    private final MonotonicClock clock;
    private final Claim claim;
    /** What this client holds already by the same claim, if that is still valid. */
    private final @Nullable Holding known;

    private final Vote[] votes;
    private final CompletableFuture<Attempt> result = new CompletableFuture<>();
    /** The counter that the nodes are asked for: the time, so that they agree, or the token that the claim has. */
    private final long wanted;

    private long token;
    private @Nullable Holding holding;
    private boolean failed;
    private int undoing;

    Acquisition(Nodes nodes, Book book, MonotonicClock clock, Claim claim) {
        this.nodes = nodes;
        this.book = book;
        this.clock = clock;
        this.claim = claim;
        Holding held = book.get(claim.id());
        this.known = held != null && held.isHeld(nodes.majority(), clock.nanoTime()) ? held : null;
        this.token = known == null ? 0 : known.token();
        this.wanted = known == null ? clock.epochMicros() : known.token();
        this.votes = new Vote[nodes.size()];
        for (int i = 0; i < votes.length; i++) {
            votes[i] = new Vote();
        }
    }

    CompletionStage<Attempt> run() {
        boolean[] worth = nodes.worthAsking();
        List<Node> asked = new ArrayList<>();
        for (Node node : nodes) {
            Vote vote = votes[node.index()];
            if (node.unsettled().contains(claim.id())) {
                vote.state = State.FAILED;
                vote.text = "has not answered an earlier attempt yet";
            } else if (worth[node.index()]) {
                vote.state = State.PENDING;
                vote.text = "no answer yet";
                asked.add(node);
            }
        }
        asked.forEach(node -> ask(node, wanted, known != null));
        decideWithoutAnAnswer();
        return result;
    }

    // So few nodes may be worth asking that none of them decides.
    private void decideWithoutAnAnswer() {
        Runnable next;
        synchronized (this) {
            next = failed || holding != null ? () -> {} : decide();
        }
        next.run();
    }

    private void ask(Node node, long counter, boolean raise) {
        synchronized (this) {
            if (failed) {
                return; // the nodes that were asked before have decided it
            }
            Vote vote = votes[node.index()];
            vote.asked = true;
            if (vote.state == State.PENDING) { // the lease of a vote counts from its first request
                vote.sent = clock.nanoTime();
            }
            node.unsettled().begin(claim.id());
        }
        node.acquire(claim, counter, raise, new Answer(node));
    }

    private final class Answer implements Reply<NodeAttempt> {

        private final Node node;

        private Answer(Node node) {
            this.node = node;
        }

        @Override
        public void answered(NodeAttempt attempt) {
            Runnable next;
            synchronized (Acquisition.this) {
                next = failed || holding != null ? late(node, attempt) : counted(node, attempt);
            }
            next.run();
            node.unsettled().end(claim.id()); // after the release that it may have begun
        }

        @Override
        public void failed(StoreException cause) {
            Runnable next;
            synchronized (Acquisition.this) {
                Vote vote = votes[node.index()];
                if (failed) {
                    next = vote.state == State.OVERDUE || cause.effect() == Effect.NONE ? () -> {} : owing(node);
                } else if (holding != null) {
                    next = () -> {};
                    if (cause.effect() == Effect.UNKNOWN) {
                        holding.unsure(node.index());
                    }
                } else {
                    vote.state = State.FAILED;
                    vote.failure = cause;
                    vote.text = String.valueOf(cause.getMessage());
                    next = decide();
                }
            }
            next.run();
            node.unsettled().end(claim.id()); // after the release that it may have begun
        }

        @Override
        public void overdue() {
            Runnable next = () -> {};
            synchronized (Acquisition.this) {
                Vote vote = votes[node.index()];
                if (!failed && holding == null && isUnderWay(vote)) {
                    vote.state = State.OVERDUE;
                    vote.text = "no answer in time";
                    next = decide();
                }
            }
            next.run();
        }
    }

    private static boolean isUnderWay(Vote vote) {
        return vote.state == State.PENDING || vote.state == State.RAISING;
    }

    // A reply before the decision, also one that was overdue.
    private Runnable counted(Node node, NodeAttempt attempt) {
        Vote vote = votes[node.index()];
        if (attempt.attempt() instanceof Granted granted) {
            vote.state = State.GRANTED;
            vote.counted = node.counts(attempt);
            vote.counter = granted.counter();
            vote.text = vote.counted ? "granted" : node.whyNotCounted(attempt);
            vote.granted = vote.granted == null ? granted : vote.granted;
        } else if (attempt.attempt() instanceof Attempt.Busy busy) {
            vote.state = State.BUSY;
            vote.granted = null;
            vote.retryAfter = busy.retryAfter();
            vote.text = "busy";
        }
        return decide();
    }

    // A reply after the decision.
    private Runnable late(Node node, NodeAttempt attempt) {
        if (!(attempt.attempt() instanceof Granted granted)) {
            return () -> {};
        }
        if (holding == null) {
            return known == null ? () -> release(node, claim) : () -> {};
        }
        boolean wanted = !node.counts(attempt) || holding.vote(node.index(), votes[node.index()].sent, granted);
        return wanted ? () -> {} : () -> release(node, claim);
    }

    private Runnable decide() {
        int majority = nodes.majority();
        int granted = count(State.GRANTED) + count(State.RAISING);
        if (granted >= majority) {
            if (token == 0) {
                token = Arrays.stream(votes)
                        .filter(vote -> vote.counted)
                        .mapToLong(vote -> vote.counter)
                        .max()
                        .orElseThrow();
            }
            long agreed = Arrays.stream(votes)
                    .filter(vote -> vote.state == State.GRANTED && vote.counted && vote.counter >= token)
                    .count();
            return agreed >= majority ? succeed() : raise();
        }
        int pending = count(State.PENDING);
        if (granted + pending >= majority) {
            return () -> {};
        }
        long answered = answered();
        if (answered < majority && answered + pending >= majority) {
            return () -> {}; // the others decide whether the name is busy or the nodes are out of reach
        }
        return answered < majority && hasSkipped() ? askSkipped() : fail("");
    }

    private long answered() {
        return Arrays.stream(votes)
                .filter(vote -> vote.state == State.BUSY || vote.granted != null)
                .count();
    }

    private boolean hasSkipped() {
        return Arrays.stream(votes).anyMatch(vote -> vote.state == State.SKIPPED);
    }

    // A node that has left the rotation may be back, and those that are in it are not enough.
    private Runnable askSkipped() {
        List<Node> skipped = new ArrayList<>();
        for (Node node : nodes) {
            Vote vote = votes[node.index()];
            if (vote.state == State.SKIPPED) {
                vote.state = State.PENDING;
                vote.text = "no answer yet";
                skipped.add(node);
            }
        }
        return () -> skipped.forEach(node -> ask(node, wanted, known != null));
    }

    // Votes of a state that may count for the grant.
    private int count(State state) {
        int count = 0;
        for (Vote vote : votes) {
            count += vote.state == state && (vote.counted || state == State.PENDING) ? 1 : 0;
        }
        return count;
    }

    private Runnable raise() {
        List<Node> lower = new ArrayList<>();
        for (Node node : nodes) {
            Vote vote = votes[node.index()];
            if (vote.state == State.GRANTED && vote.counted && vote.counter < token) {
                vote.state = State.RAISING;
                lower.add(node);
            }
        }
        return () -> lower.forEach(node -> ask(node, token, true));
    }

    private Runnable succeed() {
        Holding made = known == null ? new Holding(token, votes.length) : known;
        long now = clock.nanoTime();
        List<Duration> leases = new ArrayList<>();
        for (int i = 0; i < votes.length; i++) {
            Vote vote = votes[i];
            Granted granted = vote.granted;
            if (granted != null && vote.counted && (vote.state == State.GRANTED || vote.state == State.RAISING)) {
                made.vote(i, vote.sent, granted);
                leases.add(granted.lease());
            } else if (vote.state == State.OVERDUE || (vote.failure != null && isUnknown(vote.failure))) {
                made.unsure(i);
            }
        }
        if (!made.isHeld(nodes.majority(), now)) {
            return fail("; granted, but so late that the lease was over");
        }
        leases.sort(null);
        Duration lease = leases.get(leases.size() - nodes.majority());
        holding = made;
        book.put(claim.id(), made, now);
        return () -> result.complete(new Granted(token, lease));
    }

    private static boolean isUnknown(StoreException failure) {
        return failure.effect() == Effect.UNKNOWN;
    }

    private Runnable fail(String why) {
        failed = true;
        if (known != null && !isBusy()) {
            Effect effect = mayHaveChanged() ? Effect.UNKNOWN : Effect.NONE;
            return () -> result.completeExceptionally(outcome(effect, why));
        }
        book.close(claim.id());
        List<Node> toUndo = new ArrayList<>();
        List<Node> toOwe = new ArrayList<>();
        for (Node node : nodes) {
            Vote vote = votes[node.index()];
            if (vote.state == State.GRANTED || vote.state == State.RAISING) {
                toUndo.add(node);
            } else if (vote.state == State.OVERDUE
                    || (vote.state == State.FAILED && vote.failure != null && isUnknown(vote.failure))) {
                toOwe.add(node);
            }
        }
        boolean unsure =
                !toOwe.isEmpty() || Arrays.stream(votes).anyMatch(vote -> vote.asked && vote.state == State.PENDING);
        Undo undo = new Undo(unsure, why);
        undoing = toUndo.size();
        return () -> {
            toOwe.forEach(node -> node.owed().owe(claim));
            toUndo.forEach(node -> node.release(claim, undo.of(node)));
            if (toUndo.isEmpty()) {
                undo.finish();
            }
        };
    }

    private boolean isBusy() {
        return Arrays.stream(votes).filter(vote -> vote.state == State.BUSY).count() >= nodes.majority();
    }

    private boolean mayHaveChanged() {
        return Arrays.stream(votes)
                .anyMatch(vote -> vote.granted != null
                        || (vote.asked && isUnderWay(vote))
                        || vote.state == State.OVERDUE
                        || (vote.failure != null && isUnknown(vote.failure)));
    }

    private Runnable owing(Node node) {
        return known == null ? () -> node.owed().owe(claim) : () -> {};
    }

    private static void release(Node node, Claim claim) {
        node.release(claim, new Undone(node, claim, () -> {}, () -> {}));
    }

    /** Waits for the releases of what was granted. */
    private final class Undo {

        private boolean unsure;
        private final String why;

        private Undo(boolean unsure, String why) {
            this.unsure = unsure;
            this.why = why;
        }

        private Reply<Released> of(Node node) {
            return new Undone(node, claim, () -> ended(false), () -> ended(true));
        }

        private void ended(boolean unconfirmed) {
            synchronized (Acquisition.this) {
                unsure |= unconfirmed;
                undoing--;
                if (undoing > 0) {
                    return;
                }
            }
            finish();
        }

        private void finish() {
            Object outcome;
            synchronized (Acquisition.this) {
                outcome = busyOr(outcome(unsure ? Effect.UNKNOWN : Effect.NONE, why), why);
            }
            if (outcome instanceof Attempt.Busy busy) {
                result.complete(busy);
            } else {
                result.completeExceptionally((StoreException) outcome);
            }
        }
    }

    // Busy if a majority has answered so that the others do not matter.
    private Object busyOr(StoreException failure, String why) {
        long answered = answered();
        List<Duration> ends = new ArrayList<>();
        for (Vote vote : votes) {
            if (vote.state == State.BUSY) {
                ends.add(vote.retryAfter);
            }
        }
        if (failure instanceof KindConflictException
                || ends.isEmpty()
                || answered < nodes.majority()
                || !why.isEmpty()) {
            return failure;
        }
        ends.sort(null);
        // A majority can be free when so many of the busy ones are.
        int needed = nodes.majority() - (int) (answered - ends.size());
        return new Attempt.Busy(ends.get(Math.min(Math.max(needed, 1), ends.size()) - 1));
    }

    private StoreException outcome(Effect effect, String why) {
        int refused = 0;
        StringBuilder answers = new StringBuilder();
        StoreException cause = null;
        for (int i = 0; i < votes.length; i++) {
            StoreException failure = votes[i].failure;
            if (failure instanceof KindConflictException conflict) {
                return conflict;
            }
            refused += failure != null && !failure.retryable() ? 1 : 0;
            cause = cause == null ? failure : cause;
            answers.append(i == 0 ? "" : "; ").append(nodes.get(i)).append(": ").append(votes[i].text);
        }
        String message = "No majority of the " + votes.length + " nodes granted \"" + claim.name() + "\" to "
                + claim.id() + why + ". " + answers;
        return refused > votes.length - nodes.majority() && effect == Effect.NONE
                ? StoreException.refused(message, cause)
                : StoreException.unavailable(effect, message, cause);
    }
}
