package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the nodes have said to one attempt, and what follows from it. Not thread-safe. */
final class Votes {

    /** The state of the attempt at one node. */
    enum State {
        /** Not asked, because it did not answer the last calls. */
        SKIPPED,
        PENDING,
        /** Granted, and counted. */
        COUNTED,
        /** Granted and counted, and asked to raise its counter. */
        RAISING,
        /** Granted, but not counted because of its age. */
        YOUNG,
        BUSY,
        /** In use as another kind. */
        CONFLICT,
        FAILED,
        OVERDUE
    }

    /** The states in which a node says that the name is in use. */
    private static final EnumSet<State> IN_USE = EnumSet.of(State.BUSY, State.CONFLICT);

    private static final EnumSet<State> ANSWERED =
            EnumSet.of(State.COUNTED, State.RAISING, State.YOUNG, State.BUSY, State.CONFLICT);

    private static final class Vote {
        private State state = State.SKIPPED;
        private long counter;
        private Duration retryAfter = Duration.ZERO;
        private @Nullable StoreException failure;
        private String text = "not asked, because it did not answer " + Node.MISSES + " calls in a row";
    }

    private final Nodes nodes;
    private final Vote[] votes;

    Votes(Nodes nodes) {
        this.nodes = nodes;
        this.votes = new Vote[nodes.size()];
        Arrays.setAll(votes, i -> new Vote());
    }

    State at(Node node) {
        return votes[node.index()].state;
    }

    boolean isUnderWay(Node node) {
        return at(node) == State.PENDING || at(node) == State.RAISING;
    }

    void set(Node node, State state, String text) {
        votes[node.index()].state = state;
        votes[node.index()].text = text;
    }

    void answered(Node node, Ballot.Answer answer) {
        Vote vote = votes[node.index()];
        vote.counter = answer.counter();
        vote.retryAfter = answer.retryAfter();
        switch (answer.vote()) {
            case COUNTED -> set(node, State.COUNTED, "granted");
            case YOUNG -> set(node, State.YOUNG, node.whyNotCounted(answer.attempt()));
            case BUSY -> set(node, State.BUSY, "busy");
            case LOST -> set(node, State.BUSY, "the claim was ended there");
        }
    }

    void failed(Node node, StoreException cause) {
        votes[node.index()].failure = cause;
        State state = cause instanceof KindConflictException ? State.CONFLICT : State.FAILED;
        set(node, state, String.valueOf(cause.getMessage()));
    }

    List<Node> in(State state) {
        List<Node> all = new ArrayList<>();
        nodes.forEach(node -> {
            if (at(node) == state) {
                all.add(node);
            }
        });
        return all;
    }

    int count(State state) {
        return count(EnumSet.of(state));
    }

    private int count(EnumSet<State> states) {
        int count = 0;
        for (Vote vote : votes) {
            count += states.contains(vote.state) ? 1 : 0;
        }
        return count;
    }

    /** How many nodes have granted, and count. */
    int granted() {
        return count(State.COUNTED) + count(State.RAISING);
    }

    /** How many nodes were reached. */
    int answered() {
        return count(ANSWERED);
    }

    boolean isInUse() {
        return count(IN_USE) >= nodes.majority();
    }

    /** Whether a majority will not do what the attempt wants, also if it is repeated. */
    boolean isRefused() {
        return refused() >= nodes.majority();
    }

    private int refused() {
        return (int) Arrays.stream(votes)
                .filter(vote -> vote.state == State.FAILED && vote.failure != null && !vote.failure.retryable())
                .count();
    }

    /** Whether a node has done what the attempt wants, or may have done it. */
    boolean mayHaveHadEffect() {
        return Arrays.stream(votes)
                .anyMatch(vote -> vote.counter > 0
                        || vote.state == State.OVERDUE
                        || (vote.failure != null && vote.failure.effect() == Effect.UNKNOWN));
    }

    /** The largest counter of those that count. */
    long largestCounter() {
        return Arrays.stream(votes)
                .filter(vote -> vote.state == State.COUNTED || vote.state == State.RAISING)
                .mapToLong(vote -> vote.counter)
                .max()
                .orElseThrow();
    }

    /** The nodes whose counter is below a token, and which were not asked to raise it. */
    List<Node> below(long token) {
        List<Node> below = in(State.COUNTED);
        below.removeIf(node -> votes[node.index()].counter >= token);
        return below;
    }

    /** That the name is in use as another kind, if a majority says so; else null. */
    @Nullable
    StoreException conflict() {
        return count(State.CONFLICT) < nodes.majority()
                ? null
                : votes[in(State.CONFLICT).get(0).index()].failure;
    }

    /** That the name is in use, if a majority was reached and some of it says so; else null. */
    Attempt.@Nullable Busy busy() {
        int inUse = count(IN_USE);
        if (inUse == 0 || answered() < nodes.majority()) {
            return null;
        }
        List<Duration> ends = Arrays.stream(votes)
                .filter(vote -> IN_USE.contains(vote.state))
                .map(vote -> vote.retryAfter)
                .sorted()
                .toList();
        // A majority can be free when so many of these are.
        int needed = nodes.majority() - (answered() - inUse);
        return new Attempt.Busy(ends.get(Math.min(Math.max(needed, 1), ends.size()) - 1));
    }

    /** Why there is no majority. */
    StoreException failure(Claim claim, Effect effect, String why) {
        StringBuilder answers = new StringBuilder();
        StoreException cause = null;
        for (Node node : nodes) {
            Vote vote = votes[node.index()];
            answers.append(answers.isEmpty() ? "" : "; ")
                    .append(node)
                    .append(": ")
                    .append(vote.text);
            cause = cause == null ? vote.failure : cause;
        }
        String message = "No majority of the " + nodes.size() + " nodes granted \"" + claim.name() + "\" to "
                + claim.id() + why + ". " + answers;
        return isRefused() && effect == Effect.NONE
                ? StoreException.refused(message, cause)
                : StoreException.unavailable(effect, message, cause);
    }
}
