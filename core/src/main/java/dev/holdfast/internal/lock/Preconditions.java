package dev.holdfast.internal.lock;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import java.time.Duration;

/** Refuses bad input before anything is sent. */
final class Preconditions {

    private Preconditions() {}

    /** A time limit in nanoseconds; the longest that there is for what does not fit (292 years). */
    static long wait(Duration maxWait) {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("A wait must not be negative, but was " + maxWait);
        }
        return Nanos.of(maxWait);
    }

    /** {@code Lock}'s contract: a flag that is set on entry ends an interruptible call, also if the lock is free. */
    static void notInterrupted(LockSpec spec) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("Interrupted before waiting for lock \"" + spec.name() + "\"");
        }
    }

    static void options(Engine engine, LockSpec spec) {
        if (spec.fair() && spec.spin()) {
            throw new IllegalArgumentException("Lock \"" + spec.name() + "\" cannot both spin and be fair");
        }
        if (spec.fair() && !engine.traits().fifo()) {
            throw new IllegalArgumentException("Lock \"" + spec.name() + "\" cannot be fair: the "
                    + engine.traits().product() + " store has no queue");
        }
    }

    static int permits(LockSpec spec, int permits) {
        if (permits < 1 || permits > spec.limit()) {
            throw new IllegalArgumentException("The permits asked of semaphore \"" + spec.name() + "\" must be 1 to "
                    + spec.limit() + ", but were " + permits);
        }
        return permits;
    }
}
