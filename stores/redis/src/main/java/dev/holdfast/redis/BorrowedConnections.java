package dev.holdfast.redis;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.NoSuchElementException;
import redis.clients.jedis.Connection;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/** Connections of the pool of a client of the user's. All go back there, and the pool is never closed. */
final class BorrowedConnections implements ConnectionSource {

    /** For work, for renewals and for the subscription. */
    private static final int LEAST = 3;

    private final Pool<Connection> pool;
    private final Duration timeout;
    private final MonotonicClock clock;
    private volatile boolean closed;

    BorrowedConnections(RedisClient client, RedisOptions options, MonotonicClock clock) {
        this.pool = client.getPool();
        this.timeout = options.timeout();
        this.clock = clock;
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
                    return pool.borrowObject(Duration.ofNanos(Math.max(1, deadline - clock.nanoTime())));
                } catch (InterruptedException keptForLater) {
                    interrupted = true;
                } catch (NoSuchElementException exhausted) {
                    throw StoreException.unavailable(
                            Effect.NONE,
                            "No connection of the client's pool was free within " + timeout.toMillis()
                                    + " ms; give the pool more",
                            exhausted);
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

    @Override
    public void giveBack(Connection connection) {
        if (connection.isBroken()) {
            pool.returnBrokenResource(connection);
        } else {
            pool.returnResource(connection);
        }
    }

    @Override
    public Connection open() {
        return borrow();
    }

    // The subscriber's connection may be in the middle of anything, so it does not go back for others to use.
    @Override
    public void discard(Connection connection) {
        try {
            pool.returnBrokenResource(connection);
        } catch (JedisException | IllegalStateException alreadyGone) {
            // It is of no more use, which is why it is discarded.
            return;
        }
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
