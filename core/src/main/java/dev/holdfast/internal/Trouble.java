package dev.holdfast.internal;

import dev.holdfast.spi.StoreException;
import org.jspecify.annotations.Nullable;

/** Since when a store fails, or is silent, towards one contender. Guarded by the resource's mutex. */
final class Trouble {

    private static final long NONE = -1;

    /** The sending of the oldest request that has not been answered. */
    private long askedAt = NONE;

    private long failsSince = NONE;
    private @Nullable StoreException cause;

    /** A request is sent. */
    void asked(long now) {
        if (askedAt == NONE) {
            askedAt = now;
        }
    }

    /** No answer is awaited any more, and none came. */
    void forgetQuestion() {
        askedAt = NONE;
    }

    /** The store failed; {@code since} is when the request was sent, unless an older one is unanswered. */
    void failed(StoreException failure, long since) {
        if (failsSince == NONE) {
            failsSince = askedAt != NONE ? askedAt : since;
        }
        askedAt = NONE;
        cause = failure;
    }

    /** The store answered. */
    void over() {
        askedAt = NONE;
        failsSince = NONE;
        cause = null;
    }

    /** When somebody who bears with it for so long must give up; {@link Long#MAX_VALUE} if the store is well. */
    long ends(long storeTimeout) {
        long since = failsSince != NONE ? failsSince : askedAt;
        return since == NONE ? Long.MAX_VALUE : Times.after(since, storeTimeout);
    }

    /** The last failure; null if the store is well, or just silent. */
    @Nullable
    StoreException cause() {
        return cause;
    }
}
