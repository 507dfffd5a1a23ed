package dev.holdfast.internal.condition;

import dev.holdfast.internal.time.Wakeable;

/** The place of one waiting thread in a wait set. {@link #isWoken()} says that the wait is over. */
interface Place extends Wakeable {

    /**
     * Gives the place up. Whoever removes it from the wait set decides what came first: a signal, or the end of the wait by
     * a time limit or an interrupt.
     *
     * @return whether a signal had removed it before, so that the signal was meant for this thread
     */
    boolean leave();

    /** Whether a signal may have been meant for this thread of which {@link #leave} does not know. */
    default boolean mayHaveMissedSignal() {
        return false;
    }

    /** The client closes: wakes the thread, which cannot have the lock any more. */
    void close();
}
