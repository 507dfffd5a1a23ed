package dev.holdfast.cli.process;

import java.time.Duration;

/**
 * Decides when the child must end so that it is gone before the lock can be granted to anyone else: SIGTERM at
 * deadline - grace, SIGKILL at deadline - margin. Its input is numbers only: the time and what is left of the lease,
 * both by the local monotonic clock. Not thread-safe: one thread uses it.
 *
 * <pre>
 *   RUNNING --(left &lt;= grace)--> TERMINATED --(the time of the kill, or left &lt;= margin)--> KILLED
 *      '----------------------(left &lt;= margin)--------------------------------------------^
 * </pre>
 *
 * A renewal that comes after SIGTERM changes nothing: the child was asked to end, and a kill that may or may not
 * follow would be worse than a certain kill or none.
 */
public final class KillSchedule {

    /** What to do to the child's group now. */
    enum Action {
        NONE,
        TERMINATE,
        KILL
    }

    /**
     * What to do, and when to ask again.
     *
     * @param action what to do now
     * @param waitNanos when to ask again at the latest
     */
    record Step(Action action, long waitNanos) {}

    /** How long after a kill to kill again: a group that forks while it is being killed may have members left. */
    static final Duration REPEAT = Duration.ofMillis(100);

    /** The longest time between two checks, so that an error of a timer has no lasting effect. */
    static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

    private static final Duration LEAST_MARGIN = Duration.ofMillis(20);
    private static final Duration MOST_MARGIN = Duration.ofMillis(500);
    private static final int MARGINS_PER_LEASE = 20;
    private static final Duration MOST_GRACE = Duration.ofSeconds(5);
    private static final int GRACES_PER_LEASE = 6;

    private final OnLost onLost;
    private final long graceNanos;
    private final long marginNanos;
    private boolean terminated;
    private boolean killed;
    private long killAt;

    public KillSchedule(OnLost onLost, Duration grace, Duration margin) {
        this.onLost = onLost;
        this.marginNanos = margin.toNanos();
        this.graceNanos = onLost == OnLost.TERM ? grace.toNanos() : 0;
    }

    /**
     * The same with a grace that works for what is held, which may be a session that lives for less than the lease that was asked
     * for: between two renewals it would fall below the grace.
     *
     * @param left what is left of it when it was just acquired or renewed
     */
    KillSchedule within(Duration left) {
        Duration grace = Duration.ofNanos(graceNanos);
        Duration most = mostGrace(left);
        return new KillSchedule(onLost, grace.compareTo(most) > 0 ? most : grace, Duration.ofNanos(marginNanos));
    }

    /** The time kept free before the deadline for the kill itself: a twentieth of the lease, 20 to 500 ms. */
    public static Duration margin(Duration lease) {
        Duration margin = lease.dividedBy(MARGINS_PER_LEASE);
        return margin.compareTo(LEAST_MARGIN) < 0
                ? LEAST_MARGIN
                : margin.compareTo(MOST_MARGIN) > 0 ? MOST_MARGIN : margin;
    }

    /** The grace when none was asked for: a sixth of the lease, at most 5 s. */
    public static Duration defaultGrace(Duration lease) {
        Duration grace = lease.dividedBy(GRACES_PER_LEASE);
        return grace.compareTo(MOST_GRACE) > 0 ? MOST_GRACE : grace;
    }

    /** The longest grace that works: a lease is renewed each third, so that 2/3 of it may be left at any time. */
    public static Duration mostGrace(Duration lease) {
        return lease.dividedBy(2);
    }

    /** Whether the child was signalled to end, so that it did not end by itself. */
    boolean hasActed() {
        return terminated || killed;
    }

    /** Whether the child runs on when the lock is lost. */
    boolean ignoresLoss() {
        return onLost == OnLost.IGNORE;
    }

    /**
     * @param now the local monotonic clock
     * @param leftNanos what is left of the lease; 0 if the lock is not held any more
     */
    Step next(long now, long leftNanos) {
        if (ignoresLoss()) {
            return new Step(Action.NONE, LONGEST_WAIT.toNanos());
        }
        if (killed || leftNanos <= marginNanos || (terminated && now - killAt >= 0)) {
            killed = true;
            return new Step(Action.KILL, REPEAT.toNanos());
        }
        if (terminated) {
            return new Step(Action.NONE, Math.min(killAt - now, leftNanos - marginNanos));
        }
        if (leftNanos <= graceNanos) {
            terminated = true;
            killAt = now + leftNanos - marginNanos;
            return new Step(Action.TERMINATE, leftNanos - marginNanos);
        }
        long untilDue = leftNanos - Math.max(graceNanos, marginNanos);
        return new Step(Action.NONE, Math.min(untilDue, LONGEST_WAIT.toNanos()));
    }
}
