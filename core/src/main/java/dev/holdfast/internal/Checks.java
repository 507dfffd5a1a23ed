package dev.holdfast.internal;

import java.time.Duration;

/** Refuses bad input before anything is sent. */
final class Checks {

    private Checks() {}

    /** A time limit in nanoseconds; the longest that there is for what does not fit (292 years). */
    static long wait(Duration maxWait) {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("A wait must not be negative, but was " + maxWait);
        }
        return Times.nanos(maxWait);
    }

    /** {@code Lock}'s contract: a flag that is set on entry ends an interruptible call, also if the lock is free. */
    static void notInterrupted(Request request) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("Interrupted before waiting for lock \"" + request.name() + "\"");
        }
    }

    static void options(Engine engine, Request request) {
        if (request.fair() && request.spin()) {
            throw new IllegalArgumentException("Lock \"" + request.name() + "\" cannot both spin and be fair");
        }
        if (request.fair() && !engine.traits().fifo()) {
            throw new IllegalArgumentException("Lock \"" + request.name() + "\" cannot be fair: the "
                    + engine.traits().product() + " store has no queue");
        }
    }

    static int permits(Request request, int permits) {
        if (permits < 1 || permits > request.limit()) {
            throw new IllegalArgumentException("The permits asked of semaphore \"" + request.name() + "\" must be 1 to "
                    + request.limit() + ", but were " + permits);
        }
        return permits;
    }
}
