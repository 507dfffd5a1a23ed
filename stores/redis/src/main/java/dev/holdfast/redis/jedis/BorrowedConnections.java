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

/** Connections of the pool of a client of the user's. All go back there, and the pool is never closed. */
final class BorrowedConnections implements ConnectionSource {

    /** For work, for renewals and for the subscription. */
    private static final int LEAST = 3;

    private final Supplier<ConnectionPool> pools;
    private final Duration timeout;
    private final MonotonicClock clock;
    private volatile boolean closed;

    /** @param pools the pool at this moment: a client that knows of a fail-over may have another one afterwards */
    BorrowedConnections(Supplier<ConnectionPool> pools, RedisOptions options, MonotonicClock clock) {
        this.pools = pools;
        this.timeout = options.timeout();
        this.clock = clock;
    }

    /** @throws IllegalArgumentException if the pool has too few connections for work, renewals and the subscription */
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

    // A connection knows its pool, and whether it is broken.
    @Override
    public void giveBack(Connection connection) {
        try {
            connection.close();
        } catch (JedisException | IllegalStateException alreadyGone) {
            // It is of no more use, and its pool knows that.
            return;
        }
    }

    @Override
    public Connection open() {
        return borrow();
    }

    // The subscriber's connection may be in the middle of anything, so it does not go back for others to use.
    @Override
    public void discard(Connection connection) {
        connection.setBroken();
        giveBack(connection);
    }

    // The client ends what leads to a primary of the past; the server ends it, too, when it is made a replica.
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
