package dev.holdfast.redis.jedis;

import java.time.Duration;
import redis.clients.jedis.Connection;

/**
 * The source of connections: opened by ourselves, or borrowed from the user's client. Thread-safe. A failure to get
 * a connection is a {@link dev.holdfast.spi.StoreException} with effect NONE.
 */
public interface ConnectionSource extends AutoCloseable {

    /**
     * Returns a connection for one call. Waits until one is free, but not longer than the time-out. An interrupt
     * does not end the wait.
     */
    Connection borrow();

    /** Returns a borrowed connection, whether it is usable or broken. */
    void giveBack(Connection connection);

    /** Returns a connection for the caller to keep. It is not one of those that {@link #borrow} returns. */
    Connection open();

    /** Closes a connection from {@link #open}. */
    void discard(Connection connection);

    /** Whether a kept connection leads to the same server as new connections would; false after a fail-over. */
    boolean isCurrent(Connection connection);

    /** The longest wait for a connection, and for a reply. */
    Duration timeout();

    @Override
    void close();
}
