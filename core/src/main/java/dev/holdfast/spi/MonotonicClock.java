package dev.holdfast.spi;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The clock of the engine and the stores. It is injected, so that a test can stop and advance it.
 *
 * <p>Durations and deadlines are computed from {@link #nanoTime()} only, because steps of the wall clock do not
 * affect it.
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
     * Nanoseconds since an arbitrary moment. It never goes back. The value may overflow, so compare {@code a - b <
     * 0}, never {@code a < b}.
     */
    long nanoTime();

    /**
     * The wall clock in microseconds since 1970. Use it for numbers that should keep growing over restarts, never
     * for durations.
     */
    long epochMicros();

    /**
     * Parks the calling thread until it is unparked with {@link LockSupport#unpark}, it is interrupted, or the time
     * is over by this clock. It may also return for no reason.
     */
    void parkNanos(Object blocker, long nanos);
}
