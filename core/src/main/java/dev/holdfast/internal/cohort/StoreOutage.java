package dev.holdfast.internal.cohort;

import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.StoreException;
import org.jspecify.annotations.Nullable;

/** Since when the store fails, or is silent, towards one contender. Guarded by the mutex of the contender's lock. */
final class StoreOutage {

    /** When the oldest request was sent that has not been answered. */
    private long askedAt = Nanos.NEVER;

    private long failsSince = Nanos.NEVER;
    private @Nullable StoreException cause;

    /** A request is sent. */
    void asked(long now) {
        if (askedAt == Nanos.NEVER) {
            askedAt = now;
        }
    }

    /** No answer is awaited any more, and none came. */
    void forgetQuestion() {
        askedAt = Nanos.NEVER;
    }

    /** The store failed; {@code since} is when the request was sent, unless an older one is unanswered. */
    void failed(StoreException failure, long since) {
        if (failsSince == Nanos.NEVER) {
            failsSince = askedAt != Nanos.NEVER ? askedAt : since;
        }
        askedAt = Nanos.NEVER;
        cause = failure;
    }

    /** The store answered. */
    void over() {
        askedAt = Nanos.NEVER;
        failsSince = Nanos.NEVER;
        cause = null;
    }

    /** When somebody who bears with it for so long must give up; {@link Nanos#NEVER} if the store is well. */
    long ends(long storeTimeout) {
        long since = failsSince != Nanos.NEVER ? failsSince : askedAt;
        return since == Nanos.NEVER ? Nanos.NEVER : Nanos.after(since, storeTimeout);
    }

    /** The last failure; null if the store is well, or just silent. */
    @Nullable
    StoreException cause() {
        return cause;
    }
}
