package dev.holdfast.jdbc.connection;

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
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One connection, and the calls that queue for it. A store has several lanes, so that calls of one sort never stand behind
 * another sort that is stuck: renewals have a lane of their own.
 *
 * <p>The time of a call, its wait for the lane included, is limited: what the wait took is taken off the time that the
 * statements may wait for other clients. Neither wait is ended by an interrupt. Only the making of a connection that is
 * kept comes on top, once.
 */
public final class SerialConnection implements AutoCloseable {

    /** How much longer than its limit a call may take, to spare the common call the setting of a limit. */
    private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** For so long a call spins before it parks, if it is the next: about a transaction. None on a single processor. */
    private static final long SPIN_NANOS =
            Runtime.getRuntime().availableProcessors() > 1 ? TimeUnit.MICROSECONDS.toNanos(50) : 0;

    private final ConnectionSource source;
    private final Dialect dialect;
    private final Duration ticketTtl;
    private final long limitNanos;
    private final MonotonicClock clock;
    private final ReentrantLock mutex = new ReentrantLock();
    private @Nullable LockTable table;
    private boolean closed;

    public SerialConnection(
            ConnectionSource source, Dialect dialect, Duration ticketTtl, Duration limit, MonotonicClock clock) {
        this.source = source;
        this.dialect = dialect;
        this.ticketTtl = ticketTtl;
        this.limitNanos = limit.toNanos();
        this.clock = clock;
    }

    /** What is done on the connection. */
    @FunctionalInterface
    public interface Work<T> {

        /** Does it. The turn has the table, and knows how long it may still be waited for. */
        T on(Turn turn) throws SQLException;
    }

    /** A call's time on the lane. */
    public final class Turn {

        private final LockTable table;
        private final long start;
        private boolean limited;

        private Turn(LockTable table, long start) {
            this.table = table;
            this.start = start;
        }

        public LockTable table() {
            return table;
        }

        /** To be called before a further statement: makes it wait no longer than what is left of the call's time. */
        public LockTable further() throws SQLException {
            long left = limitNanos - (clock.nanoTime() - start);
            if (left <= 0) {
                throw tooLate();
            }
            // Mostly next to nothing is gone, and the connection's own limit is good enough.
            if (limitNanos - left > SLACK_NANOS) {
                limited = true;
                table.limitWait(Duration.ofNanos(left));
            }
            return table;
        }

        private void end() throws SQLException {
            if (limited) {
                table.limitWait(Duration.ofNanos(limitNanos));
            }
        }
    }

    /**
     * Does work on the connection, once the work before it is done.
     *
     * @throws StoreException if the work failed, or the lane was not free in time
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
            if (dialect.breaksConnection(failure)) {
                drop();
            }
            throw dialect.failure(failure);
        } finally {
            mutex.unlock();
        }
    }

    private <T> T callLocked(Work<T> work, long start) throws SQLException {
        if (closed) {
            throw StoreException.unavailable(Effect.NONE, "The store on " + source + " is closed", null);
        }
        LockTable open = table;
        long counted = start;
        if (open == null) {
            open = new LockTable(connect(), dialect, ticketTtl, source.keep(), clock);
            table = open;
            // A connection that is kept is made once, by this process alone: what a busy machine takes for that, the
            // driver's loading included, is not time that others were in the way. A pool's is what is waited for.
            counted = source.keep() ? clock.nanoTime() : start;
        }
        open.tryUntil(counted + limitNanos);
        Turn turn = new Turn(open, counted);
        try {
            turn.further();
            return work.on(turn);
        } finally {
            turn.end();
            if (!source.keep()) {
                drop();
            }
        }
    }

    // Whatever goes wrong before there is a connection, nothing was sent.
    private Connection connect() throws SQLException {
        try {
            return source.open();
        } catch (SQLException failure) {
            StoreException told = dialect.failure(failure);
            throw told.effect() == Effect.NONE
                    ? told
                    : StoreException.unavailable(Effect.NONE, String.valueOf(told.getMessage()), failure);
        }
    }

    // Like lock(), which no interrupt ends, but with a limit.
    private boolean lockInTime() {
        return mutex.tryLock() || lockSpinning() || BlockingCalls.lockWithin(mutex, limitNanos, clock);
    }

    // Calls are short, mostly much shorter than to park and to be woken. Whoever comes to a queue parks at once.
    private boolean lockSpinning() {
        long end = System.nanoTime() + SPIN_NANOS;
        while (!mutex.hasQueuedThreads() && System.nanoTime() < end) {
            if (!mutex.isLocked() && mutex.tryLock()) {
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

    private void drop() {
        LockTable dropped = table;
        table = null;
        if (dropped != null) {
            try {
                dropped.closeStatements();
                source.giveBack(dropped.statements().connection());
            } catch (SQLException alreadyBroken) {
                // It is of no more use, which is why it is dropped.
                return;
            }
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
