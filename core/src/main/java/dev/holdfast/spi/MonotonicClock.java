package dev.holdfast.spi;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The time, as the engine and the stores see it: injected, so that a test can hold and advance it.
 *
 * <p>Durations and deadlines come from {@link #nanoTime()} only, which no step of the wall clock moves.
 */
public interface MonotonicClock {

    /** The system's clock. */
    MonotonicClock SYSTEM = new MonotonicClock() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public long epochMicros() {
            return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        }

        @Override
        public void parkNanos(Object blocker, long nanos) {
            LockSupport.parkNanos(blocker, nanos);
        }

        @Override
        public String toString() {
            return "system clock";
        }
    };

    /**
     * Nanoseconds since an arbitrary moment. It never goes back, and differences overflow correctly: compare
     * {@code a - b < 0}, never {@code a < b}.
     */
    long nanoTime();

    /** The wall clock in microseconds since 1970. For numbers that should keep growing over restarts; never for durations. */
    long epochMicros();

    /**
     * Parks the calling thread until it is unparked with {@link LockSupport#unpark}, interrupted, the time is over by this
     * clock, or for no reason.
     */
    void parkNanos(Object blocker, long nanos);
}
