package dev.holdfast.testkit.law;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * How long something has taken at most, by the one of two clocks that has gone on further. Servers end leases and tickets by the
 * wall clock, which is put forward when a machine goes on after it was suspended, or on another host; the monotonic clock may
 * have stood still meanwhile.
 */
final class Stopwatch {

    private final LongSupplier nanos;
    private final LongSupplier wallMillis;
    private final long nanosBefore;
    private final long wallBefore;

    /** It runs from now on. */
    Stopwatch() {
        this(System::nanoTime, System::currentTimeMillis);
    }

    Stopwatch(LongSupplier nanos, LongSupplier wallMillis) {
        this.nanos = nanos;
        this.wallMillis = wallMillis;
        this.nanosBefore = nanos.getAsLong();
        this.wallBefore = wallMillis.getAsLong();
    }

    /** Whether so much time may have passed. */
    boolean mayHavePassed(Duration duration) {
        return nanos.getAsLong() - nanosBefore >= duration.toNanos()
                || wallMillis.getAsLong() - wallBefore >= duration.toMillis();
    }
}
