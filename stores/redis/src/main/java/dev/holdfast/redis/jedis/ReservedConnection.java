package dev.holdfast.redis.jedis;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * A connection that only renewals use, so that they never wait behind other calls. Callers wait for it for a
 * limited time.
 */
final class ReservedConnection implements AutoCloseable {

    private final ConnectionSource source;
    private final MonotonicClock clock;
    private final ReentrantLock mutex = new ReentrantLock();
    private @Nullable Connection connection;
    private boolean closed;

    ReservedConnection(ConnectionSource source, MonotonicClock clock) {
        this.source = source;
        this.clock = clock;
    }

    <T> T use(Function<Connection, T> work) {
        if (!BlockingCalls.lockWithin(mutex, source.timeout().toNanos(), clock)) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "Another renewal has kept the connection to " + source + " for longer than "
                            + source.timeout().toMillis() + " ms",
                    null);
        }
        try {
            if (closed) {
                throw StoreException.unavailable(Effect.NONE, "The store on " + source + " is closed", null);
            }
            if (connection != null && !source.isCurrent(connection)) {
                drop();
            }
            Connection open = connection == null ? source.open() : connection;
            connection = open;
            try {
                return work.apply(open);
            } finally {
                if (open.isBroken()) {
                    drop();
                }
            }
        } finally {
            mutex.unlock();
        }
    }

    private void drop() {
        Connection dropped = connection;
        connection = null;
        if (dropped != null) {
            source.discard(dropped);
        }
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
            drop();
        } finally {
            mutex.unlock();
        }
    }
}
