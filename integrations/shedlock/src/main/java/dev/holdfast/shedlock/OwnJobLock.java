package dev.holdfast.shedlock;

import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** Our lock of a job, beside which one of ShedLock's own may be held. It is used once. */
interface OwnJobLock extends SimpleLock {

    /** Whether it excludes others, and may do so. */
    boolean isHeld();

    /** Whether {@code lockAtMostFor} is over. */
    boolean isOver();

    /** The lock with other times, from now on; empty if it is not held any more. */
    Optional<OwnJobLock> extended(LockConfiguration wanted);

    /** Gives it back at once, whatever {@code lockAtLeastFor} says: for a job that has not run. */
    void release();
}
