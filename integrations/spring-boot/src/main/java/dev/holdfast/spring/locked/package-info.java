/**
 * Runs methods under their locks. {@code LockedMethods} reads the annotations, {@code LockNames} evaluates the names, {@code
 * LockAcquirer} takes the locks, and {@code LockedInterceptor} puts that around a call. Internal to this module.
 */
@NullMarked
package dev.holdfast.spring.locked;

import org.jspecify.annotations.NullMarked;
