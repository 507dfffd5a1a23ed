package dev.holdfast.internal.time;

import java.time.Duration;

/** Sums of times that stop at {@link #NEVER} instead of overflowing. */
public final class Nanos {

    /** A time that never comes. */
    public static final long NEVER = Long.MAX_VALUE;

    private Nanos() {}

    /** A duration in nanoseconds; {@link #NEVER} for what does not fit (292 years). */
    public static long of(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return NEVER;
        }
    }

    /** A time that is so much later; {@code nanos} is not negative. */
    public static long after(long now, long nanos) {
        return nanos >= NEVER - now ? NEVER : now + nanos;
    }

    /** What is left until a deadline, not less than zero; {@link #NEVER} if there is no deadline. */
    public static long until(long deadline, long now) {
        return deadline == NEVER ? NEVER : Math.max(0, deadline - now);
    }
}
