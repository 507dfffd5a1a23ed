package dev.holdfast.internal.condition;

import dev.holdfast.LockLostException;
import dev.holdfast.internal.hold.LockSpec;

/** The lock that a condition belongs to, as the calling thread holds it. */
public interface ConditionLock {

    LockSpec spec();

    /**
     * Checks that the calling thread holds the lock.
     *
     * @throws IllegalMonitorStateException if it does not, or if it also holds the read lock
     * @throws LockLostException if it has lost it
     */
    void requireHeld();

    /**
     * Gives up all that the calling thread holds.
     *
     * @return how often it held the lock
     * @throws LockLostException if it had lost it; it is given up all the same
     */
    int giveUp();

    /** Waits until the calling thread holds the lock so often again, with a new grant. An interrupt does not end the wait. */
    void takeBack(int holds);
}
