/**
 * Conditions: places in a wait set, in the store or in this JVM, and what a thread does with its lock while it has one. Uses
 * {@code calls}, {@code time} and the SPI; the lock itself is behind {@link dev.holdfast.internal.condition.ConditionLock}.
 */
@NullMarked
package dev.holdfast.internal.condition;

import org.jspecify.annotations.NullMarked;
