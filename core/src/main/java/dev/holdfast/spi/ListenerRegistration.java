package dev.holdfast.spi;

/**
 * The registration of a listener with a store. Closing it removes the listener; it sends nothing to the store's
 * server and ends no claim.
 */
@FunctionalInterface
public interface ListenerRegistration extends AutoCloseable {

    /** A registration without a listener. */
    ListenerRegistration NONE = () -> {};

    /** Removes the listener. Idempotent; never throws, and never waits for anything that does I/O. */
    @Override
    void close();
}
