package dev.holdfast.jdbc;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.row.LockTable.Swept;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Removes the rows of locks that were idle for long, on a thread and a connection of its own. It walks through the table in
 * the order of the names, a bounded number of rows with each step, and begins again at the end: soon while it finds something,
 * and ever more rarely while it does not. So it keeps up with clients that use a new name each time, and is no burden
 * where there is nothing to remove.
 *
 * <p>The walk needs no index but that of the names. One of the times would have to be written by each acquire and each
 * release.
 */
final class IdleRowCleaner implements AutoCloseable {

    /** The most rows that one step looks at. */
    static final int STEP = 1_000;

    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** The pause before the first step, so that a client that lives for a moment only does not care for the table. */
    private static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final SerialConnection connection;
    private final long keepMicros;
    private final String threadName;
    private volatile @Nullable Thread thread;
    private volatile boolean closed;

    IdleRowCleaner(SerialConnection connection, Duration keep, String threadName) {
        this.connection = connection;
        this.keepMicros = RowCodec.micros(keep);
        this.threadName = threadName;
    }

    /** Has the cleaner begin, at this name, so that not all clients look at the same rows. */
    void begin(LockName name) {
        if (thread == null) {
            start(name);
        }
    }

    private synchronized void start(LockName name) {
        if (thread == null && !closed) {
            Thread cleaner = new Thread(() -> run(name.value()), threadName);
            cleaner.setDaemon(true);
            thread = cleaner;
            cleaner.start();
        }
    }

    private void run(String first) {
        String from = first;
        long pause = FIRST_PAUSE_NANOS;
        while (true) {
            LockSupport.parkNanos(pause);
            if (closed) {
                return;
            }
            try {
                Swept swept = step(from);
                from = swept.next();
                pause = swept.rows() > 0 ? LEAST_PAUSE_NANOS : Math.min(2 * pause, MOST_PAUSE_NANOS);
            } catch (StoreException notThisTime) {
                // The calls about locks report it. What remains is removed later.
                pause = MOST_PAUSE_NANOS;
            }
        }
    }

    Swept step(String from) {
        return connection.call(turn -> turn.table().removeIdle(from, keepMicros, STEP));
    }

    @Override
    public synchronized void close() {
        closed = true;
        Thread running = thread;
        if (running != null) {
            LockSupport.unpark(running);
        }
    }
}
