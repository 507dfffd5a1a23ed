package dev.holdfast.redis.jedis;

import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.exceptions.JedisException;

/** Connections from the pool of the user's client. All of them are returned to the pool, which is never closed. */
final class BorrowedConnections implements ConnectionSource {

    /** The smallest size of the pool: one connection for work, one for renewals and one for the subscription. */
    private static final int LEAST = 3;

    private final Supplier<ConnectionPool> pools;
    private final Predicate<ConnectionPool> isCurrentPool;
    /** The pool of each connection that a caller keeps. */
    private final Map<Connection, ConnectionPool> kept = new ConcurrentHashMap<>();

    private final Duration timeout;
    private final MonotonicClock clock;
    private volatile boolean closed;

    /**
     * @param pools returns the current pool, because a client may have another pool after a fail-over
     * @param isCurrentPool whether a pool is one of those that the client uses now; must not block
     */
    BorrowedConnections(
            Supplier<ConnectionPool> pools,
            Predicate<ConnectionPool> isCurrentPool,
            RedisOptions options,
            MonotonicClock clock) {
        this.pools = pools;
        this.isCurrentPool = isCurrentPool;
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
        return borrow(false);
    }

    private Connection borrow(boolean keep) {
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
                    if (keep) {
                        kept.put(connection, pool);
                    }
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
        return borrow(true);
    }

    // The subscriber's connection may be in the middle of a message, so others must not use it again.
    @Override
    public void discard(Connection connection) {
        kept.remove(connection);
        connection.setBroken();
        giveBack(connection);
    }

    // The client closes only idle connections to a former primary. That server closes the others when it becomes a
    // replica, but until then it answers, while others get their locks from the new one.
    @Override
    public boolean isCurrent(Connection connection) {
        ConnectionPool pool = kept.get(connection);
        return pool != null && connection.isConnected() && isCurrentPool.test(pool);
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
