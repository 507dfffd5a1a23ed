package dev.holdfast.internal.time;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What is due when. A daemon thread, which starts with the first entry, hands over all entries whose time has come as one
 * list. An engine has two agendas: one declares losses and rings alarms, the other renews. With a {@link Simulator} there is no
 * thread, and the test makes the passes.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>A new entry goes into {@code fresh}, a concurrent set, so that a lock that is released soon costs one insertion and
 * one removal there. The next pass moves what is left of it to {@code sorted}. So a pass costs as much as what is due and
 * what was added since the last pass, however many entries there are.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>an entry with a time other than {@link Nanos#NEVER} is in {@code fresh}, or in {@code sorted} under a time
 *       ({@code listed}) that is not later than its own; one that was postponed is found too early, and sorted in anew;
 *   <li>{@code wakeAt} is not later than the earliest time of all entries, except during a pass;
 *   <li>an entry that was handed over is on no list until it is scheduled again.
 * </ul>
 *
 * <p>{@code at} and {@code listed} are written and read in opposite orders by those who schedule ({@code at}, then {@code
 * listed}) and by the thread of the agenda ({@code listed}, then {@code at}). One of the two therefore sees what the other
 * has done, and no time is missed.
 */
public final class Agenda<E extends Agenda.Entry> implements AutoCloseable {

    /** After a pass that failed, which none should, the next one follows so soon. */
    private static final long AFTER_FAILURE_NANOS = 100_000_000;

    /** Something to be done at a time. */
    public abstract static class Entry {

        volatile long at = Nanos.NEVER;
        /**
         * How much earlier than {@code at} it may be handed over, together with others that are due. Written before {@code
         * at}, and read after it.
         */
        long slack;
        /** By which time it is sorted; {@link Nanos#NEVER} if it is not. Written under the agenda's mutex. */
        volatile long listed = Nanos.NEVER;
        /** Distinguishes entries of the same time. Guarded by the agenda's mutex. */
        long number;

        /** When it is due; {@link Nanos#NEVER} if it is not scheduled. */
        public final long at() {
            return at;
        }

        private int compareWith(Entry other) {
            int byTime = Long.compare(listed, other.listed);
            return byTime != 0 ? byTime : Long.compare(number, other.number);
        }
    }

    /** What is done with the entries that are due. */
    public interface Pass<E> {

        /**
         * Must neither block nor throw, nor keep the list. If it fails all the same, for want of memory, it is repeated soon with
         * those that are still due.
         */
        void run(List<E> due, long now);
    }

    private final String name;
    private final Uptime time;
    private final boolean endsEarly;
    private final Pass<E> pass;
    private final @Nullable Simulator simulator;
    private final Set<E> fresh;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Guarded by the mutex. */
    private final TreeSet<E> sorted = new TreeSet<>(Entry::compareWith);
    /** Guarded by the mutex. */
    private long numbers;
    /** What the present pass hands over. It stays here if the pass fails, for the next one. Only the agenda's thread uses it. */
    private final List<E> due = new ArrayList<>();
    /** What the present pass sorts in. If it fails, each of these may be on no list. Only the agenda's thread uses it. */
    private final List<E> moved = new ArrayList<>();

    private final AtomicLong wakeAt = new AtomicLong(Nanos.NEVER);
    /** Counts the beginnings and the ends of passes: odd while one is under way. */
    private final AtomicLong steps = new AtomicLong();

    private volatile @Nullable Thread thread;
    private volatile boolean closed;

    /**
     * Creates an agenda whose thread has this name.
     *
     * @param endsEarly whether at the close all entries are handed over at once, and those that come later, too; if not,
     *     they are forgotten
     */
    public Agenda(String name, Uptime time, boolean endsEarly, Pass<E> pass) {
        this.name = name;
        this.time = time;
        this.endsEarly = endsEarly;
        this.pass = pass;
        this.simulator = time.simulator();
        // In the order of their coming, which must be the same each time if a seed is to repeat it.
        this.fresh = Simulator.setFor(simulator);
    }

    /** Reports itself to the simulator, if there is one. */
    Agenda<E> begin() {
        if (simulator != null) {
            simulator.began(this);
        }
        return this;
    }

    /** Schedules an entry, which may be scheduled already. */
    public void schedule(E entry, long at) {
        schedule(entry, at, 0);
    }

    /**
     * Schedules an entry, which may be scheduled already.
     *
     * @param slack how much earlier it may be handed over if others are due, in nanoseconds
     */
    public void schedule(E entry, long at, long slack) {
        entry.slack = slack;
        entry.at = at;
        if (at < entry.listed) {
            fresh.add(entry);
            wakeBy(at);
            if (closed && endsEarly && fresh.remove(entry)) {
                // Nobody would hand it over any more. Not on this thread, which may have a mutex.
                elsewhere(() -> pass.run(List.of(entry), time.now()));
            }
        }
    }

    /** Takes an entry off the agenda. It may be handed over once more if its time has come just now. */
    public void remove(E entry) {
        if (entry.at == Nanos.NEVER && entry.listed == Nanos.NEVER) {
            return;
        }
        entry.at = Nanos.NEVER;
        fresh.remove(entry);
        if (entry.listed != Nanos.NEVER) {
            mutex.lock();
            try {
                unlist(entry);
            } finally {
                mutex.unlock();
            }
        }
    }

    /** Whether no pass is due or under way. For tests, see {@code Engine.isIdle}. */
    public boolean isIdle() {
        boolean passing = steps.get() % 2 != 0;
        return !passing && (closed || wakeAt.get() > time.now());
    }

    /** Whether nothing is scheduled. For tests. */
    public boolean isEmpty() {
        mutex.lock();
        try {
            return fresh.isEmpty() && sorted.isEmpty();
        } finally {
            mutex.unlock();
        }
    }

    /** When the next pass is due, if a simulator makes them; {@link Nanos#NEVER} if none is. */
    public long wakeAt() {
        return closed ? Nanos.NEVER : wakeAt.get();
    }

    /** A number that grows with each beginning and each end of a pass. */
    public long steps() {
        return steps.get();
    }

    private void wakeBy(long at) {
        Thread running = thread;
        if (running != null && at >= wakeAt.get()) {
            return;
        }
        wakeAt.accumulateAndGet(at, Math::min);
        if (simulator != null) {
            return;
        }
        if (running != null) {
            LockSupport.unpark(running);
        } else {
            start();
        }
    }

    // A thread that cannot be started now, since there are too many, is started with the next entry. Those who schedule
    // are in the middle of a change, which must come to its end.
    private synchronized void start() {
        if (thread != null) {
            // Somebody else has started it meanwhile, perhaps for a later time.
            LockSupport.unpark(thread);
        } else if (!closed) {
            try {
                thread = start(this::run);
            } catch (OutOfMemoryError tooManyThreads) {
                Uncaught.report(tooManyThreads);
            }
        }
    }

    private void elsewhere(Runnable work) {
        if (simulator != null) {
            simulator.later(work);
        } else {
            start(work);
        }
    }

    private Thread start(Runnable work) {
        Thread started = new Thread(work, name);
        started.setDaemon(true);
        started.start();
        return started;
    }

    private void run() {
        while (!closed) {
            pass();
            long wait = wakeAt.get() - time.now();
            while (!closed && wait > 0) {
                time.park(this, wait);
                wait = wakeAt.get() - time.now();
            }
        }
        if (endsEarly) {
            steps.incrementAndGet();
            handOverAll();
            steps.incrementAndGet();
        }
    }

    /** Makes a pass. For a simulator, which calls it when it is due or later. */
    public void pass() {
        steps.incrementAndGet();
        // What is scheduled during the pass finds NEVER and lowers it, so nothing is missed.
        wakeAt.set(Nanos.NEVER);
        wakeAt.accumulateAndGet(safePass(), Math::min);
        steps.incrementAndGet();
    }

    private void handOverAll() {
        List<E> all = new ArrayList<>();
        mutex.lock();
        try {
            all.addAll(sorted);
            all.forEach(this::unlist);
        } finally {
            mutex.unlock();
        }
        all.addAll(due);
        // Whoever removes an entry hands it over: see schedule.
        List.copyOf(fresh).stream().filter(fresh::remove).forEach(all::add);
        all.removeIf(entry -> entry.at == Nanos.NEVER);
        pass.run(all, time.now());
    }

    // Whatever goes wrong, the next pass must be made: without it nothing is renewed, or no loss is declared.
    // Nor may it lose what was due. What can fail is the memory that is needed, so an entry is noted before it
    // is taken from where it is.
    private long safePass() {
        long now = time.now();
        try {
            boolean again = !due.isEmpty() || !moved.isEmpty();
            long next = takeDue(now);
            moved.clear();
            if (again) {
                // The pass that failed may have come so far as to remove or postpone some.
                due.removeIf(entry -> entry.at - entry.slack > now);
            }
            if (!due.isEmpty()) {
                pass.run(due, now);
                due.clear();
            }
            return next;
        } catch (Throwable failure) {
            Uncaught.report(failure);
            return now + AFTER_FAILURE_NANOS;
        }
    }

    // Returns the time of the first entry that is not due.
    private long takeDue(long now) {
        mutex.lock();
        try {
            for (E entry : moved) {
                list(entry);
            }
            for (Iterator<E> entries = fresh.iterator(); entries.hasNext(); ) {
                E entry = entries.next();
                moved.add(entry);
                entries.remove();
                list(entry);
            }
            boolean anyDue = false;
            while (!sorted.isEmpty()) {
                E first = sorted.first();
                anyDue |= first.listed <= now;
                if (!anyDue || first.listed - first.slack > now) {
                    return first.listed;
                }
                if (first.at - first.slack <= now) {
                    due.add(first);
                    unlist(first);
                } else {
                    moved.add(first);
                    list(first);
                }
            }
            return Nanos.NEVER;
        } finally {
            mutex.unlock();
        }
    }

    private void list(E entry) {
        unlist(entry);
        for (long at = entry.at; at != entry.listed; at = entry.at) {
            sorted.remove(entry);
            entry.listed = at;
            entry.number = numbers++;
            if (at != Nanos.NEVER) {
                sorted.add(entry);
            }
        }
    }

    private void unlist(E entry) {
        if (entry.listed != Nanos.NEVER) {
            sorted.remove(entry);
            entry.listed = Nanos.NEVER;
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        } else if (simulator != null && endsEarly) {
            simulator.later(this::handOverAll);
        }
    }
}
