/** ShedLock's jobs with locks in any store. Begin with {@link dev.holdfast.shedlock.HoldfastLockProvider}. */
@NullMarked
package dev.holdfast.shedlock;

import org.jspecify.annotations.NullMarked;
