package dev.holdfast.internal.time;

import dev.holdfast.spi.MonotonicClock;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The time of one engine, and its random numbers. All times of the engine are nanoseconds since its start, so that they can be compared with
 * {@code <}.
 *
 * @param clock the injected clock
 * @param origin what the clock showed at the start
 * @param simulator does the work of the engine; null if threads do it
 */
public record Uptime(
        MonotonicClock clock, long origin, @Nullable Simulator simulator) {

    /** A thread that waits without a limit still looks so often, in case that a wake-up was lost: one hour. */
    public static final long LONGEST_PARK_NANOS = 3_600_000_000_000L;

    /** Begins to count now. */
    public static Uptime start(MonotonicClock clock, @Nullable Simulator simulator) {
        return new Uptime(clock, clock.nanoTime(), simulator);
    }

    public long now() {
        return clock.nanoTime() - origin;
    }

    /** A random number from 0 to {@code bound - 1}. */
    public long random(long bound) {
        return simulator == null ? ThreadLocalRandom.current().nextLong(bound) : simulator.random(bound);
    }

    /** Parks the calling thread as {@link MonotonicClock#parkNanos} does. */
    public void park(Object blocker, long nanos) {
        clock.parkNanos(blocker, nanos);
    }
}
