package dev.holdfast.spi;

/** A listener that a store holds for somebody. Closing it forgets the listener; it sends nothing and ends no claim. */
@FunctionalInterface
public interface ListenerRegistration extends AutoCloseable {

    /** A ticket with no listener behind it. */
    ListenerRegistration NONE = () -> {};

    /** Forgets the listener. Idempotent, never throws, and never waits for anything that does I/O. */
    @Override
    void close();
}
