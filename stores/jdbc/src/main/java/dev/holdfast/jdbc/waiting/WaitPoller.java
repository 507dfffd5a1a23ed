package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.jdbc.waiting.WaiterRegistry.Listed;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Finds out what other processes did for the claims that wait here: one thread for a store object, and only while there
 * are such claims. A poll is a hint turned into a fact; what it misses, the refresh of the tickets finds.
 */
public final class WaitPoller implements AutoCloseable {

    /** How long the thread stays when nobody waits, so that it is not started anew for each wait. */
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final long PAUSE_AFTER_FAILURE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final SerialConnection lane;
    private final WaiterRegistry waiting;
    private final PollSchedule pace;
    private final Duration ticketTtl;
    private final String threadName;
    /** Set when a claim was added: it must be looked for at least once, whatever was changed before. */
    private final AtomicBoolean added = new AtomicBoolean();

    private @Nullable Thread thread;
    /** Whether the thread is parked because nobody waits. */
    private volatile boolean lingering;

    private volatile boolean closed;

    public WaitPoller(
            SerialConnection lane, WaiterRegistry waiting, PollSchedule pace, Duration ticketTtl, String threadName) {
        this.lane = lane;
        this.waiting = waiting;
        this.pace = pace;
        this.ticketTtl = ticketTtl;
        this.threadName = threadName;
    }

    /** A claim was added to those that wait. */
    public synchronized void wake() {
        added.set(true);
        if (closed) {
            return;
        }
        if (thread == null) {
            thread = new Thread(this::run, threadName);
            thread.setDaemon(true);
            thread.start();
        } else if (lingering) {
            // Else it looks soon anyway, and to wake it each time would cost more than the enqueuing.
            LockSupport.unpark(thread);
        }
    }

    /** Somebody says that there is news for a claim that waits here. */
    synchronized void lookNow() {
        added.set(true);
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!closed) {
            if (waiting.isEmpty()) {
                linger();
                if (mayEnd()) {
                    return;
                }
                continue;
            }
            long pause;
            try {
                pause = pace.pauseNanos(poll());
            } catch (RuntimeException failure) {
                // Refreshing the tickets fails for the same reason, and there somebody listens.
                added.set(true);
                pause = PAUSE_AFTER_FAILURE_NANOS;
            }
            LockSupport.parkNanos(pause);
        }
    }

    // A claim is listed before it wakes the poller: one of the two sees the other.
    private void linger() {
        lingering = true;
        if (waiting.isEmpty() && !closed) {
            LockSupport.parkNanos(LINGER_NANOS);
        }
        lingering = false;
    }

    private synchronized boolean mayEnd() {
        if (closed || waiting.isEmpty()) {
            thread = null;
            return true;
        }
        return false;
    }

    private PollSchedule.Poll poll() {
        boolean isNew = added.getAndSet(false);
        if (!pace.isWorthReading(lane) && !isNew) {
            return new PollSchedule.Poll(false, 0);
        }
        // First who is listed, with what was known of him then; then what the rows say.
        Map<LockName, List<Listed>> byName = waiting.byName();
        List<LockName> names = List.copyOf(byName.keySet());
        boolean told = false;
        int statements = 0;
        for (int from = 0; from < names.size(); from += LockTable.MAX_BATCH) {
            List<LockName> chunk = names.subList(from, Math.min(names.size(), from + LockTable.MAX_BATCH));
            Rows rows = lane.call(turn -> turn.table().read(chunk));
            List<Listed> claims = new ArrayList<>();
            chunk.forEach(name -> claims.addAll(byName.getOrDefault(name, List.of())));
            told |= waiting.compare(claims, rows, ticketTtl);
            statements++;
        }
        return new PollSchedule.Poll(told || isNew, statements);
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
