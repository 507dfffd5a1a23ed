package dev.holdfast.testkit.model;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

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
            void pass(Duration duration) {
                clock.advance(duration);
            }

            @Override
            void follow() {}
        };
    }

    /** The store under test uses real time, and the model's clock is advanced to follow it. */
    public static ModelTime real() {
        ManualClock modelClock = new ManualClock();
        return new ModelTime() {
            private long followedUntil = System.nanoTime();

            @Override
            MonotonicClock modelClock() {
                return modelClock;
            }

            @Override
            boolean isExact() {
                return false;
            }

            @Override
            void pass(Duration duration) {
                long end = System.nanoTime() + duration.toNanos();
                while (System.nanoTime() - end < 0) {
                    LockSupport.parkNanos(this, end - System.nanoTime());
                }
                follow();
            }

            @Override
            void follow() {
                long now = System.nanoTime();
                modelClock.advance(Duration.ofNanos(now - followedUntil));
                followedUntil = now;
            }
        };
    }

    /** The clock of the model. */
    abstract MonotonicClock modelClock();

    /** Whether both stores see the same time at any moment. */
    abstract boolean isExact();

    /** Lets time pass for both stores. */
    abstract void pass(Duration duration);

    /** Advances the model's clock to the time of the store under test. */
    abstract void follow();
}
