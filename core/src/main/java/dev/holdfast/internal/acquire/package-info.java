/**
 * Acquisitions: {@link dev.holdfast.internal.acquire.Wait} for one name, with a thread that parks or a future that sleeps by
 * alarms, and {@link dev.holdfast.internal.acquire.Several} for several names. Uses {@code cohort} and below.
 */
@NullMarked
package dev.holdfast.internal.acquire;

import org.jspecify.annotations.NullMarked;
