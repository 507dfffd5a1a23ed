package dev.holdfast.redis.jedis;

import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.exceptions.JedisException;

/** Connections from the pool of the user's client. All of them are returned to the pool, which is never closed. */
final class BorrowedConnections implements ConnectionSource {

    /** The smallest size of the pool: one connection for work, one for renewals and one for the subscription. */
    private static final int LEAST = 3;

    private final Supplier<ConnectionPool> pools;
    private final Duration timeout;
    private final MonotonicClock clock;
    private volatile boolean closed;

    /** @param pools returns the current pool, because a client may have another pool after a fail-over */
    BorrowedConnections(Supplier<ConnectionPool> pools, RedisOptions options, MonotonicClock clock) {
        this.pools = pools;
        this.timeout = options.timeout();
        this.clock = clock;
    }

    /**
     * @throws IllegalArgumentException if the pool has too few connections for work, renewals and the subscription
     */
    static void checkSize(ConnectionPool pool) {
        if (pool.getMaxTotal() >= 0 && pool.getMaxTotal() < LEAST) {
            throw new IllegalArgumentException("The client's pool has " + pool.getMaxTotal() + " connections; " + LEAST
                    + " are needed: for work, for renewals and for the subscription");
        }
    }

    @Override
    public Connection borrow() {
        if (closed) {
            throw StoreException.unavailable(Effect.NONE, "The store on " + this + " is closed", null);
        }
        boolean interrupted = false;
        long deadline = clock.nanoTime() + timeout.toNanos();
        try {
            while (true) {
                try {
                    ConnectionPool pool = pools.get();
                    Connection connection =
                            pool.borrowObject(Duration.ofNanos(Math.max(1, deadline - clock.nanoTime())));
                    connection.setHandlingPool(pool);
                    return connection;
                } catch (InterruptedException keptForLater) {
                    interrupted = true;
                } catch (NoSuchElementException exhausted) {
                    throw StoreException.unavailable(
                            Effect.NONE,
                            "No connection of the client's pool was free within " + timeout.toMillis()
                                    + " ms; give the pool more",
                            exhausted);
                } catch (StoreException unknown) {
                    throw unknown;
                } catch (Exception failure) {
                    throw StoreException.unavailable(
                            Effect.NONE,
                            "The client's pool cannot connect (" + OwnConnections.innermost(failure) + ")",
                            failure);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    // Closing returns the connection to its pool, because it knows its pool and whether it is broken.
    @Override
    public void giveBack(Connection connection) {
        try {
            connection.close();
        } catch (JedisException | IllegalStateException alreadyGone) {
            // The connection is unusable, and its pool knows that.
            return;
        }
    }

    @Override
    public Connection open() {
        return borrow();
    }

    // The subscriber's connection may be in the middle of a message, so others must not use it again.
    @Override
    public void discard(Connection connection) {
        connection.setBroken();
        giveBack(connection);
    }

    // The client closes connections to a former primary, and a server closes them, too, when it becomes a replica.
    @Override
    public boolean isCurrent(Connection connection) {
        return connection.isConnected();
    }

    @Override
    public Duration timeout() {
        return timeout;
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public String toString() {
        return "the pool of a Jedis client";
    }
}
