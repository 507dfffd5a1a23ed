package dev.holdfast.quorum;

import dev.holdfast.spi.StoreException;

/** A reply that nobody waits for. */
final class Ignored implements Reply<Object> {

    private static final Ignored REPLY = new Ignored();

    private Ignored() {}

    @SuppressWarnings("unchecked") // it takes any answer, and keeps none
    static <T> Reply<T> reply() {
        return (Reply<T>) (Reply<?>) REPLY;
    }

    @Override
    public void answered(Object answer) {}

    @Override
    public void failed(StoreException cause) {}

    @Override
    public void overdue() {}
}
