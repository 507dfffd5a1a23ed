package dev.holdfast;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Is notified of the events of locks, for metrics, logs and flight recordings. Every method does nothing by
 * default.
 *
 * <p>What a thread of the user's has done ({@link #acquireEnded}, {@link #released}) is reported on that thread, when it
 * has let go all mutexes of the engine. Everything else is reported by one thread at a time, in order, beside the threads that
 * renew and declare losses: an observer that blocks delays no lock, but further events wait for it, and are dropped
 * beyond 10,000. Exceptions that the methods throw go to the thread's uncaught exception handler. There may be many
 * names, so a metric should group them.
 */
public interface LockObserver {

    /** An observer that does nothing. A client that has no other skips the calls. */
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

    /** What was acquired. */
    enum Kind {
        MUTEX,
        READ,
        WRITE,
        /** Permits of a semaphore. */
        PERMITS
    }

    /** What the store was asked. */
    enum Request {
        TRY_ACQUIRE,
        /** Several names at once. */
        TRY_ACQUIRE_ALL,
        /** To enter a queue; it ends with a place in it, with the lock, or with a failure. */
        ENQUEUE,
        RENEW,
        RELEASE,
        INSPECT,
        LIST
    }

    /** One acquisition, for an observer that has something to do at its beginning: to begin a span of a trace, for example. */
    @FunctionalInterface
    interface Acquisition {

        /** It ended. Called once, on a thread as that of {@link LockObserver#acquireEnded}, which is not called for it. */
        void ended(Outcome outcome, Duration waited);
    }

    /**
     * An acquisition begins, on the thread that asks for the lock, also if it will not wait itself. Threads of this JVM may wait
     * for the same lock behind this call, so it must be quick, and must not take that lock itself. Re-entry is not reported. A multi-lock reports each of its names
     * that the thread does not hold. Candidates of elections do not begin: of them only the end is reported.
     *
     * @return what is notified of the end instead of {@link #acquireEnded}; null, as by default, for nothing else
     */
    default @Nullable Acquisition acquireStarted(String name, Kind kind) {
        return null;
    }

    /**
     * An acquisition ended after waiting for {@code waited}; re-entry is not reported. A multi-lock reports each of its
     * names. Calls the method without the kind by default.
     */
    default void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
        acquireEnded(name, outcome, waited);
    }

    /** The same, for those to whom the kind does not matter. */
    default void acquireEnded(String name, Outcome outcome, Duration waited) {}

    /** A hold was released, or its owner noticed its loss, after {@code held}. */
    default void released(String name, Duration held) {}

    /**
     * A grant was passed to {@code times} further holders in this JVM without asking the store, one after the other or,
     * if they read, at the same time. This is reported once for the grant, when it goes back to the store.
     */
    default void handedOff(String name, int times) {}

    /** A batch of renewals was answered, or failed. */
    default void renewed(int claims, int failed, Duration took) {}

    /** The renewal of a lock is overdue: it will be lost after {@code remaining} unless a renewal succeeds. */
    default void renewalLate(String name, Duration remaining) {}

    /** The store has answered, or has failed to, after {@code took}. Other events may overtake this one. */
    default void requestEnded(Request request, boolean failed, Duration took) {}

    /** A lock was lost. */
    default void lost(String name, LossReason reason) {}
}
