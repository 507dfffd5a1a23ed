package dev.holdfast.spi;

import java.time.Duration;

/** What became of one claim of a batch of renewals. */
public sealed interface Renewed {

    /**
     * The claim holds. This is also how a waiting claim whose grant was pushed and lost hears of it, so the counter is
     * told each time.
     *
     * @param counter the grant's number
     * @param lease how long the grant lives from the moment the store handled the request
     */
    record Held(long counter, Duration lease) implements Renewed {}

    /**
     * The claim waits, and its ticket is good for another {@link StoreTraits#ticketTtl()}.
     *
     * @param position how many claims wait before this one
     * @param retryAfter when the first of the present grants ends unless it is renewed
     */
    record Waiting(int position, Duration retryAfter) implements Renewed {}

    /** The claim neither holds nor waits. */
    record Gone(Reason reason) implements Renewed {}

    /** The store could not say for this claim; the others of the batch are not concerned. */
    record Failed(StoreException cause) implements Renewed {}

    /** Why a claim is gone. */
    enum Reason {
        /** Its time was over, or the store does not know it. */
        EXPIRED,
        /** Its time was over and another claim holds what it held. */
        TAKEN,
        /** Somebody released it: an operator broke the lock, or a condition was signalled. */
        RELEASED
    }
}
