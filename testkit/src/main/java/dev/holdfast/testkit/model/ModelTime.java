package dev.holdfast.testkit.model;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;

/** The time of a model run: one manual clock for both stores, or real time, which the model's clock follows. */
public abstract class ModelTime {

    private ModelTime() {}

    /** Both stores use this clock, so times are compared exactly. */
    public static ModelTime held(ManualClock clock) {
        return new ModelTime() {
            @Override
            MonotonicClock modelClock() {
                return clock;
            }

            @Override
            boolean isExact() {
                return true;
            }

            @Override
            long nanoTime() {
                return clock.nanoTime();
            }

            @Override
            void pass(Duration duration) {
                clock.advance(duration);
            }

            @Override
            void follow() {}
        };
    }

    /** The store under test uses real time, and the model's clock is advanced to follow it. */
    public static ModelTime real() {
        return followed(MonotonicClock.SYSTEM);
    }

    /** The same if real time is that of this clock. */
    static ModelTime followed(MonotonicClock clock) {
        ManualClock modelClock = new ManualClock();
        return new ModelTime() {
            private long followedUntil = clock.nanoTime();

            @Override
            MonotonicClock modelClock() {
                return modelClock;
            }

            @Override
            boolean isExact() {
                return false;
            }

            @Override
            long nanoTime() {
                return clock.nanoTime();
            }

            @Override
            void pass(Duration duration) {
                long end = clock.nanoTime() + duration.toNanos();
                for (long left = duration.toNanos(); left > 0; left = end - clock.nanoTime()) {
                    clock.parkNanos(this, left);
                }
                follow();
            }

            @Override
            void follow() {
                long now = clock.nanoTime();
                modelClock.advance(Duration.ofNanos(now - followedUntil));
                followedUntil = now;
            }
        };
    }

    /** The clock of the model. */
    abstract MonotonicClock modelClock();

    /** Whether both stores see the same time at any moment. */
    abstract boolean isExact();

    /** The time of the store under test. */
    abstract long nanoTime();

    /** Lets time pass for both stores. */
    abstract void pass(Duration duration);

    /** Advances the model's clock to the time of the store under test. */
    abstract void follow();
}
