package dev.holdfast.internal.hold;

import java.time.Duration;

/**
 * How long a grant is surely held, by the local clock (law 5): counted from before the request was sent, less a margin for
 * clocks that run at different rates.
 *
 * @param start when the request was sent
 * @param span the lease that the store gave, in nanoseconds
 * @param deadline from when on the grant must be taken for lost
 */
public record Validity(long start, long span, long deadline) {

    /** The constant part of the margin: scheduling and rounding on both sides. */
    public static final long MARGIN_NANOS = 2_000_000;

    /** The margin for drift: a hundredth of the lease. */
    public static final int DRIFT_PART = 100;

    public static Validity of(long sentAt, Duration lease) {
        long span = lease.toNanos();
        return new Validity(sentAt, span, sentAt + span - span / DRIFT_PART - MARGIN_NANOS);
    }

    /** When the next renewal is due: after a third of the lease, which leaves time for two more. */
    public long renewalDue() {
        return start + span / 3;
    }

    /** When the renewal is overdue. */
    public long doubtBegins() {
        return start + span / 2;
    }

    /** Whether at least two thirds of the lease are left, so that the grant may be passed on. */
    public boolean isFresh(long now) {
        return deadline - now >= span - span / 3 - span / DRIFT_PART - MARGIN_NANOS;
    }

    /** Whether at least half of the lease is left. */
    public boolean hasHalfLeft(long now) {
        return now <= doubtBegins();
    }
}
