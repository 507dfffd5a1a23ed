package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.RowLockedException;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import java.sql.Connection;
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
 *
 * <p>A connection of the store's own pool is kept from call to call, with its prepared statements: to borrow it anew each time
 * would cost a message to the server and back whenever it has been idle for half a second, as before each renewal. It is given
 * back when something has failed, or nobody has used it for {@link #UNUSED}: a firewall may have dropped it by then. If one of a store's
 * connections breaks, none that was opened before that is used again. The first call after a restart of the server may fail,
 * and have no known outcome; it is repeated as any other.
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

    /** How long nobody has used a connection that goes back to the pool. Renewals come more often, and so do polls. */
    static final Duration UNUSED = Duration.ofMinutes(1);

    private final ConnectionSource source;
    private final Dialect dialect;
    private final Duration ticketTtl;
    private final Duration limit;
    private final long limitNanos;
    private final long spinNanos;
    private final MonotonicClock clock;
    /** Fair: whoever has to wait gets it in the order of arrival, unless {@link #lockAtOnce} overtakes. */
    private final ReentrantLock mutex = new ReentrantLock(true);
    /** How many calls have overtaken the ones that wait now. Written by the owner of the mutex. */
    private volatile int overtaking;

    private final AtomicLong turns = new AtomicLong();

    private @Nullable LockTable table;
    /** When the table was used last. */
    private long used;
    /** How many connections of the source had broken before this one was opened. */
    private int brokenBefore;

    private boolean closed;

    public SerialConnection(
            ConnectionSource source, Dialect dialect, Duration ticketTtl, Duration limit, MonotonicClock clock) {
        this.source = source;
        this.dialect = dialect;
        this.ticketTtl = ticketTtl;
        this.limit = limit;
        this.limitNanos = limit.toNanos();
        this.spinNanos = source.use() == Use.FOR_EVER ? SPIN_NANOS : 0;
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
        if (source.broken() != brokenBefore) {
            drop(false);
        }
        LockTable open = table;
        long counted = start;
        if (open == null) {
            brokenBefore = source.broken();
            open = new LockTable(connect(), dialect, ticketTtl, source.use() != Use.FOR_A_CALL, clock);
            table = open;
            // One that is kept for ever is opened once, without waiting for other clients, so the time that this
            // takes, with the loading of the driver, does not count. The wait for a connection of a pool does count.
            counted = source.use() == Use.FOR_EVER ? clock.nanoTime() : start;
        }
        open.begin(counted + limitNanos, limit);
        Turn turn = new Turn(open);
        Condition left = Condition.GOOD;
        try {
            turn.further();
            return work.on(turn);
        } catch (SQLException failure) {
            left = conditionAfter(failure, open.statements().connection());
            throw failure;
        } catch (Error midway) {
            left = Condition.BROKEN; // an answer may be half read
            throw midway;
        } finally {
            endCall(open, open.statements().isSpoiled() ? Condition.BROKEN : left);
        }
    }

    /** What a call has left a connection in. */
    private enum Condition {
        GOOD,
        /** It is not known whether it works. Its pool finds out, if it has one. */
        DOUBTFUL,
        BROKEN
    }

    // A pool closes a connection by itself if it knows from the failure that it is broken.
    private Condition conditionAfter(SQLException failure, Connection connection) throws SQLException {
        if (dialect.breaksConnection(failure) || (source.use() == Use.WHILE_BUSY && connection.isClosed())) {
            return Condition.BROKEN;
        }
        return dialect.isRace(failure) || dialect.isLocked(failure) ? Condition.GOOD : Condition.DOUBTFUL;
    }

    private void endCall(LockTable open, Condition left) throws SQLException {
        try {
            open.end(limit);
        } finally {
            used = clock.nanoTime();
            boolean goesBack = switch (source.use()) {
                case FOR_EVER -> false;
                case WHILE_BUSY -> left == Condition.DOUBTFUL;
                case FOR_A_CALL -> true;
            };
            if (left == Condition.BROKEN || goesBack) {
                drop(left == Condition.BROKEN);
            }
        }
    }

    /** Gives the connection back if it is that of a pool, and nobody has used it for {@link #UNUSED}. */
    void giveBackIfUnused() {
        if (source.use() != Use.WHILE_BUSY || !mutex.tryLock()) {
            return;
        }
        try {
            if (clock.nanoTime() - used > UNUSED.toNanos()) {
                drop(false);
            }
        } finally {
            mutex.unlock();
        }
    }

    // A failure to get a connection has no effect, whatever its cause, because nothing was sent.
    private Connection connect() throws SQLException {
        try {
            return source.open();
        } catch (SQLException failure) {
            StoreException translated = dialect.failure(failure);
            throw translated.effect() == Effect.NONE
                    ? translated
                    : StoreException.unavailable(Effect.NONE, String.valueOf(translated.getMessage()), failure);
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

    private void drop(boolean broken) {
        LockTable dropped = table;
        table = null;
        if (dropped != null) {
            try {
                end(dropped, broken);
            } catch (SQLException alreadyBroken) {
                // The outcome of the call is known by now, so a failure here adds nothing.
                return;
            }
        }
    }

    // A connection that is not given back, because its statements cannot be closed, is missing in its pool for ever.
    private void end(LockTable dropped, boolean broken) throws SQLException {
        Connection connection = dropped.statements().connection();
        try {
            dropped.closeStatements();
        } finally {
            if (broken) {
                source.discard(connection);
            } else {
                source.giveBack(connection);
            }
        }
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
            drop(false);
        } finally {
            mutex.unlock();
        }
    }
}
