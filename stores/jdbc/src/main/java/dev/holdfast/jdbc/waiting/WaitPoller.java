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
 * Polls the rows for what other processes did to the claims that wait in this client: one thread for each store
 * object, and only while there are such claims. What a poll misses is found when the tickets are refreshed.
 */
public final class WaitPoller implements AutoCloseable {

    /** How long the thread stays when no claim waits, so that a new one is not started for each wait. */
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The pause after a poll has failed. */
    private static final long PAUSE_AFTER_FAILURE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final SerialConnection connection;
    private final WaiterRegistry waiters;
    private final PollSchedule schedule;
    private final Duration ticketTtl;
    private final String threadName;
    /**
     * Set when a claim was added: its row must be read at least once, even if nothing has changed since the last
     * poll.
     */
    private final AtomicBoolean added = new AtomicBoolean();

    private @Nullable Thread thread;
    /** Whether the thread is parked because no claim waits. */
    private volatile boolean lingering;

    private volatile boolean closed;

    public WaitPoller(
            SerialConnection connection,
            WaiterRegistry waiters,
            PollSchedule schedule,
            Duration ticketTtl,
            String threadName) {
        this.connection = connection;
        this.waiters = waiters;
        this.schedule = schedule;
        this.ticketTtl = ticketTtl;
        this.threadName = threadName;
    }

    /** To be called after a claim was added to the registry. */
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
            // Otherwise the thread polls soon anyway, and to wake it each time would cost more than the enqueue
            // itself.
            LockSupport.unpark(thread);
        }
    }

    /** Polls now, because the database has notified this client of a change to a claim that waits here. */
    synchronized void lookNow() {
        added.set(true);
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!closed) {
            if (waiters.isEmpty()) {
                linger();
                if (mayEnd()) {
                    return;
                }
                continue;
            }
            long pause;
            try {
                pause = schedule.pauseNanos(poll());
            } catch (RuntimeException failure) {
                // The refresh of the tickets fails for the same reason, and reports it to the listeners.
                added.set(true);
                pause = PAUSE_AFTER_FAILURE_NANOS;
            }
            LockSupport.parkNanos(pause);
        }
    }

    // A claim is registered before it wakes the poller, so either this thread sees the claim, or wake() sees
    // lingering.
    private void linger() {
        lingering = true;
        if (waiters.isEmpty() && !closed) {
            LockSupport.parkNanos(LINGER_NANOS);
        }
        lingering = false;
    }

    private synchronized boolean mayEnd() {
        if (closed || waiters.isEmpty()) {
            thread = null;
            return true;
        }
        return false;
    }

    private PollSchedule.Poll poll() {
        boolean isNew = added.getAndSet(false);
        if (!schedule.isWorthReading(connection) && !isNew) {
            return new PollSchedule.Poll(false, 0);
        }
        // The waiters are listed before the rows are read, so that each is compared with rows that are not older
        // than it.
        Map<LockName, List<Listed>> byName = waiters.byName();
        List<LockName> names = List.copyOf(byName.keySet());
        boolean notified = false;
        int statements = 0;
        for (int from = 0; from < names.size(); from += LockTable.MAX_BATCH) {
            List<LockName> chunk = names.subList(from, Math.min(names.size(), from + LockTable.MAX_BATCH));
            Rows rows = connection.call(turn -> turn.table().read(chunk));
            List<Listed> claims = new ArrayList<>();
            chunk.forEach(name -> claims.addAll(byName.getOrDefault(name, List.of())));
            notified |= waiters.compare(claims, rows, ticketTtl);
            statements++;
        }
        return new PollSchedule.Poll(notified || isNew, statements);
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
