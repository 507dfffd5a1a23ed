package dev.holdfast.redis.jedis;

import java.time.Duration;
import redis.clients.jedis.Connection;

/**
 * Where connections come from: opened by ourselves, or lent by a client of the user's. Thread-safe. What goes wrong before a
 * connection is there is a {@link dev.holdfast.spi.StoreException} with effect NONE.
 */
public interface ConnectionSource extends AutoCloseable {

    /** A connection for one call; waits until one is free, but not for longer than the time-out. No interrupt ends the wait. */
    Connection borrow();

    /** Gives back a borrowed connection, whole or broken. */
    void giveBack(Connection connection);

    /** A connection to keep, apart from those that {@link #borrow} gives. */
    Connection open();

    /** Ends a connection that was kept. */
    void discard(Connection connection);

    /** Whether a kept connection still leads to where new ones lead; false after a fail-over. */
    boolean isCurrent(Connection connection);

    /** How long a connection, and a reply, may be waited for. */
    Duration timeout();

    @Override
    void close();
}
