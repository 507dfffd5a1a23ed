package dev.holdfast.internal.time;

import dev.holdfast.spi.MonotonicClock;

/**
 * The time of one engine. All times of the engine are nanoseconds since its start, so that they can be compared with
 * {@code <}.
 *
 * @param clock the injected clock
 * @param origin what the clock showed at the start
 */
public record Uptime(MonotonicClock clock, long origin) {

    /** A thread that waits without a limit still looks so often, in case that a wake-up was lost: one hour. */
    public static final long LONGEST_PARK_NANOS = 3_600_000_000_000L;

    /** Begins to count now. */
    public static Uptime start(MonotonicClock clock) {
        return new Uptime(clock, clock.nanoTime());
    }

    public long now() {
        return clock.nanoTime() - origin;
    }

    /** Parks the calling thread as {@link MonotonicClock#parkNanos} does. */
    public void park(Object blocker, long nanos) {
        clock.parkNanos(blocker, nanos);
    }
}
