package dev.holdfast.jdbc;

import dev.holdfast.jdbc.adopted.AdoptedTable;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.connection.StoreConnections;
import dev.holdfast.jdbc.row.Companion;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.row.RowLockedException;
import dev.holdfast.jdbc.row.Transition;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Frees the locks of dead clients of ours in the table of other programs, which know nothing of leases and would wait
 * for ever, removes our rows of locks that were idle for long, and has the store give back connections that nobody
 * uses. Every client does so, on a thread of its own.
 */
final class AdoptedRowSweeper implements AutoCloseable {

    /** The longest time between two sweeps. */
    static final Duration PERIOD = Duration.ofSeconds(2);

    /** The most rows that one sweep looks at of each kind. */
    private static final int MOST = 1_000;

    /** After so many that cannot be freed, one after the other, the database is away, most likely. */
    private static final int MOST_FAILURES = 10;

    private final StoreConnections all;
    private final SerialConnection connection;
    private final AdoptedTable theirs;
    private final long keepMicros;
    private final Thread thread;
    private volatile boolean closed;

    AdoptedRowSweeper(
            StoreConnections all, SerialConnection connection, AdoptedTable theirs, Duration keep, String threadName) {
        this.all = all;
        this.connection = connection;
        this.theirs = theirs;
        this.keepMicros = RowCodec.micros(keep);
        this.thread = new Thread(this::run, threadName);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    // The pauses differ, so that the clients do not all come at once.
    private void run() {
        while (!closed) {
            long most = PERIOD.toNanos();
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(most / 2, most));
            try {
                if (!closed) {
                    all.giveBackUnused();
                    sweep();
                }
            } catch (RuntimeException | Error notThisTime) {
                // The calls about locks report it. What remains is swept later.
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
        }
    }

    private void sweep() {
        // Apart, because late releases leave entries that last for a lease: many of them would hide the lock of a
        // dead client.
        List<LockName> dead = connection.call(turn -> turn.table().over(MOST));
        free(dead);
        List<LockName> more = connection.call(turn -> turn.table().more(LockTable.MAX_BATCH));
        free(more);
        List<LockName> idle = connection.call(turn -> turn.table().unheld(keepMicros, LockTable.MAX_BATCH));
        connection.call(turn -> turn.table().removeIdle(idle, keepMicros));
    }

    // One that cannot be freed, as their program may refer to it, must not keep the others.
    private void free(List<LockName> names) {
        int failures = 0;
        for (LockName name : names) {
            try {
                connection.call(turn -> free(turn.table(), name));
                failures = 0;
            } catch (StoreException failed) {
                if (!isReferredTo(failed) && ++failures == MOST_FAILURES) {
                    throw failed;
                }
            }
        }
    }

    private static boolean isReferredTo(StoreException failed) {
        return failed.getCause() instanceof SQLException cause
                && String.valueOf(cause.getSQLState()).startsWith("23");
    }

    private boolean free(LockTable table, LockName name) throws SQLException {
        try {
            return table.look(name, AdoptedRowSweeper::settle, false, theirs.change())
                    .answerOrThrow();
        } catch (RowLockedException | Companion.TakenElsewhereException notThisTime) {
            return false;
        }
    }

    private static boolean settle(Transition.Read read) {
        read.only().settle(read.now(), read.epoch());
        return read.only().isFree();
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }
}
