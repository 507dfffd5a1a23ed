package dev.holdfast.jdbc;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.connection.StoreConnections;
import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.LockTable.Idle;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.spi.LockName;
import dev.holdfast.store.DaemonThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Removes the rows of locks that were idle for long, on a thread and a connection of its own, and has the store give
 * back connections that nobody uses. It walks through the table in the order of the names, a bounded number of rows
 * with each step, and begins again at the end: soon while it finds something, and ever more rarely while it does not.
 * So it keeps up with clients that use a new name each time, and is no burden where there is nothing to remove.
 *
 * <p>The walk needs no index but that of the names. One of the times would have to be written by each acquire and each
 * release.
 *
 * <p>Where one step sees the whole table and finds nothing, the next one comes after the longest pause: the steps of
 * clients that have just begun would be many beside what these ask for.
 *
 * <p>A step is several short turns on the connection, so that others which use it wait for one of them at most.
 */
final class IdleRowCleaner implements AutoCloseable {

    /** The most rows that one step looks at. */
    static final int STEP = 1_000;

    /** The most rows that are cleared in one turn, which is a commit for each. */
    private static final int CLEARED_AT_ONCE = 32;

    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** The pause before the first step, so that a client that lives for a moment only does not care for the table. */
    private static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final StoreConnections all;
    private final SerialConnection connection;
    private final long keepMicros;
    private final String threadName;
    private volatile @Nullable Thread thread;
    private volatile boolean closed;

    /** The name with which the next step begins. */
    private String from = "";
    /** Whether the step before could not find out where the next one begins. */
    private boolean isLost;

    IdleRowCleaner(StoreConnections all, SerialConnection connection, Duration keep, String threadName) {
        this.all = all;
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
            from = name.value();
            thread = DaemonThreads.start(Thread::new, this::run, threadName);
        }
    }

    private void run() {
        long pause = FIRST_PAUSE_NANOS;
        while (!closed) {
            LockSupport.parkNanos(pause);
            if (closed) {
                return;
            }
            pause = pauseAfterStep(pause);
        }
    }

    // Whatever is in the table, and whatever the driver throws, must not end the thread: the calls about locks
    // report it. What remains is removed later.
    long pauseAfterStep(long before) {
        try {
            all.giveBackUnused();
            boolean begins = from.isEmpty();
            int removed = step(STEP);
            boolean sawAll = begins && from.isEmpty();
            return sawAll && removed == 0 ? MOST_PAUSE_NANOS : pause(before, removed);
        } catch (RuntimeException | Error notThisTime) {
            return MOST_PAUSE_NANOS;
        }
    }

    /**
     * The pause after a step that did not see the whole table. It grows slowly, so that the pace is that of many steps: the next page
     * may have something to remove although this one had nothing.
     */
    static long pause(long before, int removed) {
        return removed > 0 ? LEAST_PAUSE_NANOS : Math.min(before + before / 8, MOST_PAUSE_NANOS);
    }

    /**
     * Removes the idle ones of some rows, and goes on behind them, also if that fails: a row that cannot be removed must not
     * keep all others.
     *
     * @param most how many rows it looks at
     * @return how many it has removed
     */
    int step(int most) {
        String begin = from;
        // Where the page ends, somebody may have written a name that is no text. Then it ends elsewhere the next time.
        int rows = isLost ? ThreadLocalRandom.current().nextInt(most / 2, most) : most;
        isLost = true;
        String end = connection.call(turn -> turn.table().nameAfter(begin, rows));
        isLost = false;
        from = end;
        Idle idle = connection.call(turn -> turn.table().idle(begin, end, keepMicros));
        int removed = 0;
        for (List<LockName> names : batches(idle.removable(), LockTable.MAX_BATCH)) {
            removed += remove(names);
        }
        for (List<LockRow> ended : batches(idle.ended(), CLEARED_AT_ONCE)) {
            removed += remove(connection.call(turn -> turn.table().clear(ended)));
        }
        return removed;
    }

    // Some databases cannot leave out a row that somebody has locked. Halves find it.
    private int remove(List<LockName> names) {
        OptionalInt removed = connection.call(turn -> turn.table().removeIdle(names, keepMicros));
        if (removed.isPresent() || names.size() == 1) {
            return removed.orElse(0);
        }
        int half = names.size() / 2;
        return remove(names.subList(0, half)) + remove(names.subList(half, names.size()));
    }

    private static <T> List<List<T>> batches(List<T> all, int most) {
        List<List<T>> batches = new ArrayList<>();
        for (int at = 0; at < all.size(); at += most) {
            batches.add(all.subList(at, Math.min(all.size(), at + most)));
        }
        return batches;
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
