package dev.holdfast.quorum;

import dev.holdfast.spi.StoreException;

/**
 * Receives what one node answers to one call. Exactly one of {@link #answered} and {@link #failed} is called in the end;
 * before it, {@link #overdue} may be called once, or at the same moment. The methods must not block.
 */
interface Reply<T> {

    void answered(T answer);

    void failed(StoreException cause);

    /** The time limit of the node has passed without an answer. */
    void overdue();
}
