package dev.holdfast.testkit.model;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** The time of a run beside the model: one held clock for both stores, or real time that the model's clock follows. */
public abstract class ModelTime {

    private ModelTime() {}

    /** Both stores run on this clock, so times are compared exactly. */
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

    /** The store under test runs on a clock that nobody holds; the model's clock is moved after it. */
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

    /** Lets time pass for both. */
    abstract void pass(Duration duration);

    /** Brings the model's clock up to the store's. */
    abstract void follow();
}
