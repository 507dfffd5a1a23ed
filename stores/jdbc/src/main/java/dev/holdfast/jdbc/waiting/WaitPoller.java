package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.waiting.WaiterRegistry.Seen;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.DaemonThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
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

    /** The most grants whose release is awaited, to learn how long this client holds its locks. */
    private static final int MOST_HELD = 1_000;

    private record Enqueued(LockName name, int turn) {}

    private record Held(LockName name, long nanos) {}

    private final SerialConnection connection;
    private final WaiterRegistry waiters;
    private final PollSchedule schedule;
    private final Duration ticketTtl;
    private final MonotonicClock clock;
    private final String threadName;
    private final Queue<Enqueued> enqueued = new ConcurrentLinkedQueue<>();
    /** When polls began that found claims of this client to be granted, until these are released. */
    private final Map<ClaimId, Long> heldSince = new ConcurrentHashMap<>();
    /** At most one for each of these grants. */
    private final Queue<Held> held = new ConcurrentLinkedQueue<>();

    private volatile boolean allAreDue;

    private @Nullable Thread thread;
    /** Until when the thread is parked, and it is parked: claims that are to be looked for earlier must wake it. */
    private volatile long parkedUntil;

    private volatile boolean isParked;
    private volatile boolean closed;

    /**
     * Polls a file of SQLite.
     *
     * @param connection is used for polls only: it must see the commits of all others
     */
    public static WaitPoller ofFile(
            SerialConnection connection,
            WaiterRegistry waiters,
            Duration ticketTtl,
            MonotonicClock clock,
            String threadName) {
        return new WaitPoller(connection, waiters, new FilePolls(), ticketTtl, clock, threadName);
    }

    /** Polls the rows of a server, more rarely while it notifies this client. */
    public static WaitPoller ofRows(
            SerialConnection connection,
            WaiterRegistry waiters,
            WaiterNotifier notifier,
            Duration ticketTtl,
            MonotonicClock clock,
            String threadName) {
        RowPolls polls = new RowPolls(
                notifier::isListening, bound -> ThreadLocalRandom.current().nextLong(bound));
        return new WaitPoller(connection, waiters, polls, ticketTtl, clock, threadName);
    }

    WaitPoller(
            SerialConnection connection,
            WaiterRegistry waiters,
            PollSchedule schedule,
            Duration ticketTtl,
            MonotonicClock clock,
            String threadName) {
        this.connection = connection;
        this.waiters = waiters;
        this.schedule = schedule;
        this.ticketTtl = ticketTtl;
        this.clock = clock;
        this.threadName = threadName;
    }

    /**
     * To be called after a claim was enqueued.
     *
     * @param turn how many releases come before it is granted, at the least
     */
    public void enqueued(LockName name, int turn) {
        enqueued.add(new Enqueued(name, turn));
        wake(schedule.firstNanos(turn));
    }

    /** To be called after a claim was released. */
    public void released(Claim claim) {
        Long since = heldSince.remove(claim.id());
        if (since != null) {
            held.add(new Held(claim.name(), clock.nanoTime() - since));
        }
    }

    /**
     * Reads all rows for which claims wait, because notifications may have been missed. Also those that were not changed since: the
     * listener read them, and the schedule does not know what it saw.
     */
    void lookNow() {
        waiters.forgetVersions();
        allAreDue = true;
        wake(0);
    }

    // To wake the thread each time would cost more than the enqueue itself.
    private synchronized void wake(long within) {
        if (closed) {
            return;
        }
        if (thread == null) {
            thread = DaemonThreads.start(Thread::new, this::run, threadName);
        } else if (isParked && clock.nanoTime() + within - parkedUntil < 0) {
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!closed) {
            long pause;
            // A look at all rows that was asked for keeps the thread from parking until a poll has cared for it.
            if (waiters.isEmpty() && enqueued.isEmpty() && !allAreDue) {
                pause = LINGER_NANOS;
            } else {
                pause = pollAll();
            }
            park(pause);
            if (mayEnd(pause)) {
                return;
            }
        }
    }

    private long pollAll() {
        try {
            poll();
            return schedule.pauseNanos(clock.nanoTime());
        } catch (RuntimeException | Error failure) {
            // The refresh of the tickets fails for the same reason, and reports it to the listeners. Also an
            // Error: nobody would start another thread.
            schedule.allAreDue();
            if (!enqueued.isEmpty()) {
                // There was no memory for it, and it does not let the thread park.
                LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NANOS);
            }
            return PAUSE_AFTER_FAILURE_NANOS;
        }
    }

    // Either a claim that is enqueued meanwhile is seen here, or whoever enqueued it sees that the thread is parked.
    private void park(long pause) {
        parkedUntil = clock.nanoTime() + pause;
        isParked = true;
        if (enqueued.isEmpty() && !allAreDue && !closed) {
            LockSupport.parkNanos(pause);
        }
        isParked = false;
    }

    private synchronized boolean mayEnd(long pause) {
        boolean idle = pause == LINGER_NANOS && waiters.isEmpty() && enqueued.isEmpty();
        if (closed || (idle && clock.nanoTime() - parkedUntil >= 0)) {
            thread = null;
            return true;
        }
        return false;
    }

    private void poll() {
        for (Held one = held.poll(); one != null; one = held.poll()) {
            schedule.held(one.name(), one.nanos());
        }
        for (Enqueued one = enqueued.peek(); one != null; one = enqueued.peek()) {
            schedule.enqueued(one.name(), one.turn(), clock.nanoTime());
            enqueued.remove();
        }
        if (allAreDue) {
            allAreDue = false;
            schedule.allAreDue();
        }
        List<LockName> due = new ArrayList<>(schedule.due(connection, clock.nanoTime()));
        for (int from = 0; from < due.size(); from += LockTable.MAX_BATCH) {
            List<LockName> chunk = due.subList(from, Math.min(due.size(), from + LockTable.MAX_BATCH));
            Map<LockName, Seen> seen = look(chunk, due.subList(from, due.size()));
            long now = clock.nanoTime();
            for (LockName name : chunk) {
                Seen found = seen.get(name);
                if (found == null) {
                    schedule.unchanged(name, now);
                } else {
                    schedule.read(name, found.turn(), found.granted(), now);
                }
            }
        }
    }

    private Map<LockName, Seen> look(List<LockName> names, List<LockName> due) {
        long asked = clock.nanoTime();
        Consumer<ClaimId> beforeGrant = id -> holds(id, asked);
        List<LockName> whole =
                names.stream().filter(name -> schedule.wantsQueue(name, asked)).toList();
        try {
            return connection.call(turn -> {
                if (!schedule.readsHeads()) {
                    return waiters.look(turn.table(), whole, ticketTtl, beforeGrant);
                }
                Map<LockName, Seen> seen = waiters.lookAtHeads(turn.table(), names, ticketTtl, beforeGrant);
                waiters.look(turn.table(), whole, ticketTtl, beforeGrant)
                        .forEach((name, found) -> seen.merge(name, found, Seen::andLater));
                return seen;
            });
        } catch (RuntimeException | Error failure) {
            due.forEach(name -> schedule.unchanged(name, clock.nanoTime()));
            throw failure;
        }
    }

    private void holds(ClaimId id, long since) {
        if (heldSince.size() < MOST_HELD) {
            heldSince.put(id, since);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
