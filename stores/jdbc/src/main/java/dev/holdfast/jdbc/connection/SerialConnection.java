package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
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
 * would cost a message to the server and back whenever it has been idle for half a second, as before each renewal. One that nobody
 * has used for {@link #UNUSED} is checked before it is used, since a firewall or the server may have dropped it; so are all others
 * when one breaks. After a failure it is closed, unless that is one of those which clients meet that come together. If one leads to a
 * server that is not the primary, none that was opened before is used again. The first call after a restart of the server may fail,
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

    /**
     * How long nobody has used a connection that is checked before its next use, and goes back to the pool. Renewals of a lease of
     * the usual length come more often, and so do polls; nothing in between drops a connection so soon.
     */
    static final Duration UNUSED = Duration.ofSeconds(20);

    private final ConnectionSource source;
    private final Use use;
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
    /** How often all connections of the source had been discarded when this one was opened. */
    private int discardsBefore;
    /** How often a connection of the source had broken when this one was opened, or was checked. */
    private int breaksBefore;

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
        this.ticketTtl = ticketTtl;
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
        dropIfUseless();
        LockTable open = table;
        long counted = start;
        if (open == null) {
            discardsBefore = source.discards();
            breaksBefore = source.breaks();
            open = new LockTable(connect(), dialect, ticketTtl, use != Use.FOR_A_CALL, clock);
            table = open;
            // One that is kept for ever is opened once, without waiting for other clients, so the time that this
            // takes, with the loading of the driver, does not count. The wait for a connection of a pool does count.
            counted = use == Use.FOR_EVER ? clock.nanoTime() : start;
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
            left = Condition.USELESS; // an answer may be half read
            throw midway;
        } finally {
            endCall(open, left);
        }
    }

    // One that comes from the pool was checked there.
    private void dropIfUseless() throws SQLException {
        LockTable kept = table;
        if (kept == null || use != Use.WHILE_BUSY) {
            return;
        }
        int breaks = source.breaks();
        if (source.discards() != discardsBefore) {
            drop(Condition.GOOD); // the pool knows that it is to be closed
        } else if (breaks != breaksBefore || isUnused()) {
            if (!works(kept.statements().connection())) {
                drop(Condition.USELESS);
            }
            breaksBefore = breaks;
        }
    }

    private boolean isUnused() {
        return clock.nanoTime() - used > UNUSED.toNanos();
    }

    private boolean works(Connection connection) {
        try {
            return connection.isValid(Math.max(1, (int) limit.dividedBy(2).toSeconds()));
        } catch (SQLException closed) {
            return false;
        }
    }

    /** What a call has left a connection in. */
    private enum Condition {
        GOOD,
        /** It must not be used again. */
        USELESS,
        /** It is closed: perhaps its server has gone. */
        BROKEN,
        /** It leads to a server that is not wanted. */
        ELSEWHERE
    }

    // What clients meet that come together says nothing about the connection. After any other failure our pool would
    // lend it
    // again without a check.
    private Condition conditionAfter(SQLException failure, Connection connection) throws SQLException {
        if (dialect.breaksConnection(failure)) {
            return Condition.ELSEWHERE;
        }
        if (source.use() != Use.WHILE_BUSY) {
            return Condition.GOOD;
        }
        boolean isUsual = dialect.isRace(failure) || dialect.isLocked(failure);
        if (connection.isClosed()) {
            return isUsual ? Condition.USELESS : Condition.BROKEN;
        }
        return isUsual ? Condition.GOOD : Condition.USELESS;
    }

    private void endCall(LockTable open, Condition left) throws SQLException {
        try {
            open.end(limit);
        } finally {
            used = clock.nanoTime();
            Condition condition = left == Condition.GOOD ? conditionOf(open.statements()) : left;
            if (condition != Condition.GOOD || use == Use.FOR_A_CALL) {
                drop(condition);
            }
        }
    }

    // Whatever has ended the call: a pool closes a connection whose transaction could not be rolled back.
    private Condition conditionOf(LockStatements statements) throws SQLException {
        if (use == Use.WHILE_BUSY && statements.connection().isClosed()) {
            return Condition.BROKEN;
        }
        return statements.isSpoiled() ? Condition.USELESS : Condition.GOOD;
    }

    /** Gives the connection back if it is that of a pool, and nobody has used it for {@link #UNUSED}. */
    void giveBackIfUnused() {
        if (use != Use.WHILE_BUSY || !mutex.tryLock()) {
            return;
        }
        try {
            if (isUnused()) {
                drop(Condition.GOOD);
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

    private void drop(Condition condition) {
        LockTable dropped = table;
        table = null;
        if (dropped != null) {
            try {
                end(dropped, condition);
            } catch (SQLException alreadyBroken) {
                // The outcome of the call is known by now, so a failure here adds nothing.
                return;
            }
        }
    }

    // A connection that is not given back, because its statements cannot be closed, is missing in its pool for ever.
    private void end(LockTable dropped, Condition condition) throws SQLException {
        Connection connection = dropped.statements().connection();
        switch (condition) {
            case GOOD -> {
                try {
                    dropped.closeStatements();
                } finally {
                    source.giveBack(connection);
                }
            }
            case USELESS -> source.discard(connection);
            case BROKEN -> {
                source.broke();
                source.discard(connection);
            }
            case ELSEWHERE -> source.discardAll(connection, discardsBefore);
        }
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
            drop(Condition.GOOD);
        } finally {
            mutex.unlock();
        }
    }
}
