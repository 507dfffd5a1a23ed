package dev.holdfast;

import java.time.Duration;

/**
 * Hears what happens to locks: for metrics, logs and flight recordings. Every method does nothing by default.
 *
 * <p>The methods are called on the threads that work, some of them while others wait: they must be quick and must not
 * block. What they throw is dropped. Names may be many; a metric should group them.
 */
public interface LockObserver {

    /** An observer that does nothing; the engine then skips the calls. */
    LockObserver NONE = new LockObserver() {};

    /** How an acquisition ended. */
    enum Outcome {
        ACQUIRED,
        /** Not free, and nobody waited. */
        BUSY,
        TIMED_OUT,
        INTERRUPTED,
        CANCELLED,
        FAILED
    }

    /** An acquisition ended after waiting for {@code waited}; re-entry is not told. */
    default void acquireEnded(String name, Outcome outcome, Duration waited) {}

    /** A hold was given up, or its loss was noticed by its owner, after {@code held}. */
    default void released(String name, Duration held) {}

    /** A held grant was passed to another thread of this JVM without a trip. Told for the grant when it goes back. */
    default void handedOff(String name, int times) {}

    /** A batch of renewals was answered, or failed. */
    default void renewed(int claims, int failed, Duration took) {}

    /** A lock was lost. */
    default void lost(String name, LossReason reason) {}
}
