package dev.holdfast;

import java.time.Duration;

/**
 * Is notified of the events of locks, for metrics, logs and flight recordings. Every method does nothing by
 * default.
 *
 * <p>The methods are called on the threads that acquire, renew and release, sometimes while other threads wait.
 * They must be quick and must not block. Exceptions that they throw are dropped. There may be many names, so a
 * metric should group them.
 */
public interface LockObserver {

    /** An observer that does nothing. With this observer the engine skips the calls. */
    LockObserver NONE = new LockObserver() {};

    /** How an acquisition ended. */
    enum Outcome {
        ACQUIRED,
        /** The lock was not free, and the caller did not want to wait. */
        BUSY,
        TIMED_OUT,
        INTERRUPTED,
        CANCELLED,
        FAILED
    }

    /** An acquisition ended after waiting for {@code waited}; re-entry is not reported. */
    default void acquireEnded(String name, Outcome outcome, Duration waited) {}

    /** A hold was released, or its owner noticed its loss, after {@code held}. */
    default void released(String name, Duration held) {}

    /**
     * A held grant was passed {@code times} times to another thread of this JVM without asking the store. This is
     * reported once for the grant, when it goes back to the store.
     */
    default void handedOff(String name, int times) {}

    /** A batch of renewals was answered, or failed. */
    default void renewed(int claims, int failed, Duration took) {}

    /** A lock was lost. */
    default void lost(String name, LossReason reason) {}
}
