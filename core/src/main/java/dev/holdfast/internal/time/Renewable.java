package dev.holdfast.internal.time;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import org.jspecify.annotations.Nullable;

/** Something that takes part in the batches of renewals: a grant that is held, or a place in the store's queue. */
public abstract class Renewable extends Agenda.Entry {

    /**
     * What to send; null if it does not want to take part after all. It is asked again at the time for which it schedules
     * itself here, which is when an answer is overdue.
     *
     * @param sentAt the time before the batch is sent
     */
    public abstract @Nullable Claim beginRenewal(long sentAt);

    /** The renewal of this claim was answered. */
    public abstract void renewed(Claim asked, Renewed answer, long sentAt);

    /** The renewal of this claim failed, with the rest of its batch. */
    public abstract void renewalFailed(Claim asked, StoreException cause);
}
