package dev.holdfast.testkit;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Records who held a resource from when to when, and checks afterwards that the history obeys the laws: the permits
 * never exceeded the limit, tokens grew, and nobody was overtaken in the queue.
 *
 * <p>A hold is counted from the moment at which its owner knew of it until just before its owner sent the release,
 * so every violation that is found could have affected a user. Times may come from any one monotonic clock; on
 * Linux {@link System#nanoTime()} is the same for all processes of a machine, so histories of several processes can
 * be put together with {@link #add}.
 *
 * <p>A hold that ends when it begins is one of which its owner learned too late; only {@link #checkTokensInTime} looks at it.
 *
 * <p>One checker is for one resource. Thread-safe while it records.
 */
public final class HistoryChecker {

    /** The value for a hold that never waited in a queue, or whose position in the queue is not known. */
    public static final long NEVER_QUEUED = Long.MAX_VALUE;

    private final int limit;
    private final Queue<Hold> holds = new ConcurrentLinkedQueue<>();
    private final Queue<String> wrongRenewals = new ConcurrentLinkedQueue<>();

    /**
     * One hold, with times in nanoseconds of one monotonic clock.
     *
     * @param owner who held, for people
     * @param permits how much was held; the limit if exclusive
     * @param token the token or counter of the grant
     * @param asked when the request was about to be sent
     * @param queued when the owner knew that it was in the queue, or {@link #NEVER_QUEUED}
     * @param from when the owner knew that it held
     * @param to when the owner was about to release, or its validity was over
     */
    public record Hold(String owner, int permits, long token, long asked, long queued, long from, long to) {}

    /** A hold that has not ended yet. */
    public final class OpenHold {

        private final Hold begun;

        private OpenHold(Hold begun) {
            this.begun = begun;
        }

        /** Call after a renewal: the token must be the one that was granted. */
        public void renewed(long token) {
            if (token != begun.token()) {
                wrongRenewals.add("a renewal returned token " + token + " of " + begun);
            }
        }

        /** Call just before the release is sent. */
        public void ending() {
            holds.add(new Hold(
                    begun.owner(),
                    begun.permits(),
                    begun.token(),
                    begun.asked(),
                    begun.queued(),
                    begun.from(),
                    System.nanoTime()));
        }
    }

    /** @param limit how much the resource has in all */
    public HistoryChecker(int limit) {
        this.limit = limit;
    }

    /**
     * Call as soon as a grant is known.
     *
     * @param asked {@link System#nanoTime()} before the request was sent
     * @param queued {@link System#nanoTime()} after the position in the queue was reported, or {@link
     *     #NEVER_QUEUED}
     */
    public OpenHold acquired(String owner, int permits, long token, long asked, long queued) {
        return new OpenHold(new Hold(owner, permits, token, asked, queued, System.nanoTime(), Long.MAX_VALUE));
    }

    /** Adds a hold that was recorded elsewhere. */
    public void add(Hold hold) {
        holds.add(hold);
    }

    /** How many holds were recorded and are over. */
    public int size() {
        return holds.size();
    }

    /**
     * Checks weights and tokens.
     *
     * @throws AssertionError if a law was broken, with the holds that show it
     */
    public void check() {
        if (!wrongRenewals.isEmpty()) {
            throw new AssertionError("A grant's token changed: " + wrongRenewals);
        }
        // One that was over when its owner learned of it was held by nobody then.
        List<Hold> byStart = sorted(Comparator.comparingLong(Hold::from)).stream()
                .filter(hold -> hold.to() > hold.from())
                .toList();
        checkWeights(byStart);
        checkTokens(byStart);
    }

    /**
     * Checks the same as {@link #check()}, and that a waiter that was in the queue before another one asked was
     * granted before that one.
     */
    public void checkFifo() {
        check();
        List<Hold> queued = sorted(Comparator.comparingLong(Hold::queued));
        Hold latest = null;
        int next = 0;
        for (Hold hold : sorted(Comparator.comparingLong(Hold::asked))) {
            for (; next < queued.size() && queued.get(next).queued() < hold.asked(); next++) {
                if (latest == null || queued.get(next).token() > latest.token()) {
                    latest = queued.get(next);
                }
            }
            if (latest != null && latest.token() > hold.token()) {
                throw violation("One waiter was overtaken by another that asked later", latest, hold);
            }
        }
    }

    /**
     * Checks the tokens of exclusive grants only: whoever asks when another grant is known to somebody gets a larger token than
     * that one. This holds even where two hold at once because the store has forgotten, or its clock was set.
     *
     * @throws AssertionError if a token did not grow, with the holds that show it
     */
    public void checkTokensInTime() {
        List<Hold> byStart = sorted(Comparator.comparingLong(Hold::from));
        Hold largest = null;
        int next = 0;
        for (Hold hold : sorted(Comparator.comparingLong(Hold::asked))) {
            for (; next < byStart.size() && byStart.get(next).from() < hold.asked(); next++) {
                if (largest == null || byStart.get(next).token() > largest.token()) {
                    largest = byStart.get(next);
                }
            }
            if (largest != null && largest.token() >= hold.token()) {
                throw violation("A later grant has no larger token", largest, hold);
            }
        }
    }

    // Holds are half-open intervals: one that ends when another begins does not overlap it.
    private void checkWeights(List<Hold> byStart) {
        PriorityQueue<Hold> live = new PriorityQueue<>(Comparator.comparingLong(Hold::to));
        long granted = 0;
        for (Hold hold : byStart) {
            while (!live.isEmpty() && live.element().to() <= hold.from()) {
                granted -= live.remove().permits();
            }
            granted += hold.permits();
            live.add(hold);
            if (granted > limit) {
                throw violation(granted + " permits of " + limit + " were held at once", live.toArray(Hold[]::new));
            }
        }
    }

    // Exclusive holds do not overlap others, so the order of their beginnings is the order of their grants. Shared
    // holds may have been reported in another order than they were granted, and have no order among each other.
    private void checkTokens(List<Hold> byStart) {
        Hold largest = null;
        Hold largestExclusive = null;
        for (Hold hold : byStart) {
            boolean exclusive = hold.permits() == limit;
            Hold before = exclusive ? largest : largestExclusive;
            if (before != null && before.token() >= hold.token()) {
                throw violation("A later grant has no larger token", before, hold);
            }
            if (largest == null || hold.token() > largest.token()) {
                largest = hold;
            }
            if (exclusive) {
                largestExclusive = hold;
            }
        }
    }

    private List<Hold> sorted(Comparator<Hold> order) {
        List<Hold> sorted = new ArrayList<>(holds);
        sorted.sort(order);
        return sorted;
    }

    private static AssertionError violation(String what, Hold... shownBy) {
        StringBuilder text = new StringBuilder(what).append(':');
        long start = Long.MAX_VALUE;
        for (Hold hold : shownBy) {
            start = Math.min(start, hold.asked());
        }
        for (Hold hold : shownBy) {
            text.append(String.format(
                    Locale.ROOT,
                    "%n  %s held %d with token %d from %,d to %,d ns (asked at %,d)",
                    hold.owner(),
                    hold.permits(),
                    hold.token(),
                    hold.from() - start,
                    hold.to() - start,
                    hold.asked() - start));
        }
        return new AssertionError(text.toString());
    }
}
