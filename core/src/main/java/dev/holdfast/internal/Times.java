package dev.holdfast.internal;

import java.time.Duration;

/** Sums of times that stop at {@link Long#MAX_VALUE}, which means never, instead of wrapping round. */
final class Times {

    private Times() {}

    /** A duration in nanoseconds; {@link Long#MAX_VALUE} for what does not fit (292 years). */
    static long nanos(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }

    /** A time that is so much later; {@code nanos} is not negative. */
    static long after(long now, long nanos) {
        return nanos >= Long.MAX_VALUE - now ? Long.MAX_VALUE : now + nanos;
    }
}
