/**
 * The lock of one name in this JVM, on the plan of a cohort lock (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): local
 * waiters queue in a {@link dev.holdfast.internal.cohort.LocalQueue}, one {@link
 * dev.holdfast.internal.cohort.RemoteContender} asks the store on behalf of all, and a grant is passed from one local holder
 * to the next without a trip. Uses {@code hold}, {@code calls} and {@code time}.
 */
@NullMarked
package dev.holdfast.internal.cohort;

import org.jspecify.annotations.NullMarked;
