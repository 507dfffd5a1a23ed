package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.RowLockedException;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One connection, and the calls that queue for it. A store has several, so that calls of one kind never queue behind
 * calls of another kind that are stuck: renewals have a connection of their own.
 *
 * <p>The time of a call, including its wait for the connection, is limited: the time of that wait is subtracted from
 * the time that the statements may wait for other clients. An interrupt ends neither wait. Only the time to open a
 * connection that is kept for ever is not limited by this; it occurs once.
 */
public final class SerialConnection implements AutoCloseable {

    /**
     * How long a call spins before it parks, if no other call queues: about the time of a transaction in a file. One at a server
     * takes many times as long, and the processor is better left to that. On a single processor it does not spin.
     */
    private static final long SPIN_NANOS =
            Runtime.getRuntime().availableProcessors() > 1 ? TimeUnit.MICROSECONDS.toNanos(50) : 0;

    /**
     * How many calls in a row may take the connection although others wait for it. To take it at once spares a thread
     * switch, which costs more than the usual call; but on a busy machine a call that waits could be overtaken until its time
     * is over.
     */
    static final int MOST_OVERTAKING = 16;

    private final ConnectionSource source;
    private final Use use;
    private final Dialect dialect;
    private final KeptConnection kept;
    private final Duration limit;
    private final long limitNanos;
    private final long spinNanos;
    private final MonotonicClock clock;
    /** Fair: whoever has to wait gets it in the order of arrival, unless {@link #lockAtOnce} overtakes. */
    private final ReentrantLock mutex = new ReentrantLock(true);
    /** How many calls have overtaken the ones that wait now. Written by the owner of the mutex. */
    private volatile int overtaking;

    private final AtomicLong turns = new AtomicLong();

    private boolean closed;

    /**
     * @param use how long the connection is kept
     * @param limit how long a call may take, with its wait for the connection
     */
    public SerialConnection(
            ConnectionSource source,
            Use use,
            Dialect dialect,
            Duration ticketTtl,
            Duration limit,
            MonotonicClock clock) {
        this.source = source;
        this.use = use;
        this.dialect = dialect;
        this.kept = new KeptConnection(source, use, dialect, ticketTtl, limit, clock);
        this.limit = limit;
        this.limitNanos = limit.toNanos();
        this.spinNanos = use == Use.FOR_EVER ? SPIN_NANOS : 0;
        this.clock = clock;
    }

    /** Work that a call does on the connection. */
    @FunctionalInterface
    public interface Work<T> {

        /** Does the work. The turn has the table, and limits the waits to the time that is left of the call. */
        T on(Turn turn) throws SQLException;
    }

    /** The time in which a call has the connection for itself. */
    public final class Turn {

        private final LockTable table;

        private Turn(LockTable table) {
            this.table = table;
        }

        public LockTable table() {
            return table;
        }

        /** To be called before a further statement: limits its waits to the time that is left of the call. */
        public LockTable further() throws SQLException {
            if (!table.limitWait()) {
                throw tooLate();
            }
            return table;
        }
    }

    /**
     * Does work on the connection, after the work before it is done.
     *
     * @throws StoreException if the work failed, or the connection was not free in time
     */
    public <T> T call(Work<T> work) {
        long start = clock.nanoTime();
        if (!lockInTime()) {
            throw tooLate();
        }
        try {
            return callLocked(work, start);
        } catch (RowLockedException locked) {
            throw locked.toStoreException();
        } catch (SQLException failure) {
            throw dialect.failure(failure);
        } finally {
            turns.incrementAndGet();
            mutex.unlock();
        }
    }

    /** How many calls have had the connection, and are over. */
    long turns() {
        return turns.get();
    }

    private <T> T callLocked(Work<T> work, long start) throws SQLException {
        if (closed) {
            throw StoreException.unavailable(Effect.NONE, "The store on " + source + " is closed", null);
        }
        boolean opens = !kept.isOpen();
        LockTable table = kept.open();
        // One that is kept for ever is opened once, without waiting for other clients, so the time that this takes,
        // with the loading of the driver, does not count. The wait for a connection of a pool does count.
        long counted = opens && use == Use.FOR_EVER ? clock.nanoTime() : start;
        table.begin(counted + limitNanos, limit);
        Turn turn = new Turn(table);
        Throwable failed = null;
        try {
            turn.further();
            return work.on(turn);
        } catch (StoreException | RowLockedException ofOurOwn) {
            throw ofOurOwn;
        } catch (SQLException | RuntimeException | Error failure) {
            failed = failure;
            throw failure;
        } finally {
            endCall(table, failed);
        }
    }

    // The outcome of the call is known by now, so a failure here concerns the connection only.
    private void endCall(LockTable table, @Nullable Throwable failed) {
        Throwable ended = failed;
        try {
            table.end(limit);
        } catch (SQLException | RuntimeException | Error afterwards) {
            ended = failed == null ? afterwards : failed;
        } finally {
            kept.endCall(ended);
        }
    }

    /** Gives the connection back if it is that of a pool, and nobody has used it for a while. */
    void giveBackIfUnused() {
        if (mutex.tryLock()) {
            try {
                kept.giveBackIfUnused();
            } finally {
                mutex.unlock();
            }
        }
    }

    // Like lock(), it does not end on an interrupt, but it has a time limit.
    private boolean lockInTime() {
        if (lockAtOnce() || lockSpinning()) {
            return true;
        }
        if (BlockingCalls.lockWithin(mutex, limitNanos, clock)) {
            overtaking = 0;
            return true;
        }
        return false;
    }

    private boolean lockAtOnce() {
        boolean overtakes = mutex.hasQueuedThreads();
        if ((overtakes && overtaking >= MOST_OVERTAKING) || !mutex.tryLock()) {
            return false;
        }
        overtaking = overtakes ? overtaking + 1 : 0;
        return true;
    }

    // Most calls take much less time than a thread takes to park and to wake up. If others queue already, it parks
    // at once.
    private boolean lockSpinning() {
        long end = System.nanoTime() + spinNanos;
        while (!mutex.hasQueuedThreads() && System.nanoTime() < end) {
            if (!mutex.isLocked() && lockAtOnce()) {
                return true;
            }
            Thread.onSpinWait();
        }
        return false;
    }

    private StoreException tooLate() {
        return StoreException.unavailable(
                Effect.NONE,
                source + " was not reached within "
                        + Duration.ofNanos(limitNanos).toMillis() + " ms: other calls or other clients were in the way",
                null);
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
            kept.giveBack();
        } finally {
            mutex.unlock();
        }
    }
}
