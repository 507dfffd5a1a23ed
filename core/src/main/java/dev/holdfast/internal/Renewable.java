package dev.holdfast.internal;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import org.jspecify.annotations.Nullable;

/** Something that takes part in the batch of renewals: a grant that is held, or a place in the store's queue. */
interface Renewable {

    /** When it wants to take part next; {@link Long#MAX_VALUE} for never. Read without a lock. */
    long renewAt();

    /** From when on it may join a batch that leaves anyway; not after {@link #renewAt}. Read without a lock. */
    long renewFrom();

    /**
     * What to send, or null if it does not want to take part after all. It will not be asked again until it was answered.
     *
     * @param sentAt the time before the batch is sent
     * @param held what the threads of this client hold
     */
    @Nullable
    Claim beginRenewal(long sentAt, HeldNames held);

    /** The answer to a renewal of this claim. */
    void renewed(Claim asked, Renewed answer, long sentAt);

    /** The renewal of this claim failed, with the same end for all of the batch. */
    void renewalFailed(Claim asked, StoreException cause);
}
