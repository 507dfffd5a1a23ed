package dev.holdfast.internal.lock;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
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
        StoreTraits traits = engine.traits();
        if (spec.fair() && !traits.fifo()) {
            throw new UnsupportedOperationException("Lock \"" + spec.name() + "\" cannot be fair: the "
                    + traits.product() + " store has no queue. Use a store that has one, or leave the option fair out");
        }
        if (!traits.kinds().serves(spec.limit())) {
            throw new UnsupportedOperationException("\"" + spec.name() + "\" cannot be a "
                    + (spec.limit() == Claim.ALL ? "read-write lock" : "semaphore") + ": the " + traits.product()
                    + " store serves exclusive " + (traits.kinds() == Kinds.READ_WRITE ? "and read-write " : "")
                    + "locks only. Use such a lock, or open another store or layout for it");
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
