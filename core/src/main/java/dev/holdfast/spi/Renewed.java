package dev.holdfast.spi;

import java.time.Duration;

/** The result for one claim of a batch of renewals: {@link Granted} if it holds. */
public sealed interface Renewed permits Granted, Renewed.Waiting, Renewed.Gone, Renewed.Failed {

    /**
     * The claim waits, and its ticket is valid for another {@link StoreTraits#ticketTtl()}.
     *
     * @param position how many claims wait before this one, exact if it is less than {@link #FAR}; {@code FAR} or more if at
     *     least so many waited before it when the store counted them last. A store need not count further, nor count anew for
     *     a claim that was so far back: else each of many waiters would read a long queue at every refresh
     * @param retryAfter the time until the first of the present grants ends if it is not renewed; zero if not known, as on
     *     stores of sessions
     */
    record Waiting(int position, Duration retryAfter) implements Renewed {

        /** Positions are exact below this one. Nobody asks earlier or later because of a larger one. */
        public static final int FAR = 8;
    }

    /** The claim neither holds nor waits. */
    record Gone(Reason reason) implements Renewed {}

    /** The store could not answer for this claim. The other claims of the batch are not affected. */
    record Failed(StoreException cause) implements Renewed {}

    /** Why a claim is gone. */
    enum Reason {
        /** The claim expired, or the store does not know it. */
        EXPIRED,
        /** The claim expired, and another claim holds what it held. */
        TAKEN,
        /** Somebody released the claim: an operator broke the lock, or a condition was signalled. */
        RELEASED
    }
}
