package dev.holdfast.testkit;

import dev.holdfast.spi.MonotonicClock;

/** A clock that is another one, but for what a test overrides. */
public abstract class WrappedClock implements MonotonicClock {

    private final MonotonicClock clock;

    protected WrappedClock(MonotonicClock clock) {
        this.clock = clock;
    }

    @Override
    public long nanoTime() {
        return clock.nanoTime();
    }

    @Override
    public long epochMicros() {
        return clock.epochMicros();
    }

    @Override
    public void parkNanos(Object blocker, long nanos) {
        clock.parkNanos(blocker, nanos);
    }
}
