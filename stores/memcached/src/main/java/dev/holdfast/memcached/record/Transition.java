package dev.holdfast.memcached.record;

import dev.holdfast.store.ResourceRecord;

/** How an operation changes the record of a name. It is applied again if somebody else has changed the record. */
@FunctionalInterface
public interface Transition<T> {

    /**
     * What a transition led to.
     *
     * @param answer the answer to the caller
     * @param isChange whether the record has changed, so that it must be written
     */
    record Outcome<T>(T answer, boolean isChange) {}

    /**
     * Applies the transition.
     *
     * @param record the record; it is changed
     * @param now the time for its methods
     * @param newCounter the counter of a grant that is made now
     */
    Outcome<T> apply(ResourceRecord record, long now, long newCounter);
}
