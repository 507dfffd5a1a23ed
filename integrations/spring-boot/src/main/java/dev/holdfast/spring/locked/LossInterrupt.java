package dev.holdfast.spring.locked;

import dev.holdfast.Lease;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread of a method when its lease is lost. Not that of the lease itself, whose thread is the method's also while
 * the lock stays taken after it. Thread-safe.
 */
final class LossInterrupt {

    /** Null once the method has ended. Guarded by this. */
    private @Nullable Thread thread;

    /** For a method that runs on this thread. */
    static LossInterrupt begin(Lease lease) {
        LossInterrupt interrupt = new LossInterrupt();
        interrupt.thread = Thread.currentThread();
        lease.onLost(reason -> interrupt.interrupt());
        return interrupt;
    }

    /** For one that is not to be interrupted. */
    static LossInterrupt none() {
        return new LossInterrupt();
    }

    private LossInterrupt() {}

    private synchronized void interrupt() {
        if (thread != null) {
            thread.interrupt();
        }
    }

    /** The method has ended: its thread is not interrupted any more. */
    synchronized void end() {
        thread = null;
    }
}
