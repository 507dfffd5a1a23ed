package dev.holdfast.internal.acquire;

import org.jspecify.annotations.Nullable;

/**
 * Whose a hold becomes.
 *
 * @param thread the thread that acquires; null for a future
 * @param holds whether the hold is the thread's own, through {@code lock()}; if not, it is a lease
 */
record Owner(@Nullable Thread thread, boolean holds) {

    /** A lease that nobody's thread acquires. */
    static final Owner NOBODY = new Owner(null, false);
}
