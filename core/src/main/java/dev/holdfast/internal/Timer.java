package dev.holdfast.internal;

import dev.holdfast.spi.MonotonicClock;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Declares losses when their time has come, and rings alarms. Its thread does no I/O and runs no user code, so that it is
 * in time even while the store hangs and every listener blocks.
 */
final class Timer implements AutoCloseable {

    /** Something to be done at a time; must neither block nor throw. */
    record Alarm(long at, long number, Runnable ring) implements Comparable<Alarm> {
        @Override
        public int compareTo(Alarm other) {
            int byTime = Long.compare(at, other.at);
            return byTime != 0 ? byTime : Long.compare(number, other.number);
        }
    }

    private final Set<Grant> grants = ConcurrentHashMap.newKeySet();
    private final ReentrantLock mutex = new ReentrantLock();
    /** Guarded by the mutex. */
    private final TreeSet<Alarm> alarms = new TreeSet<>();
    /** Guarded by the mutex. */
    private long numbers;

    private final Pacer pacer;

    Timer(MonotonicClock clock, long origin) {
        this.pacer = new Pacer("holdfast-timer", clock, origin, this::pass);
    }

    void watch(Grant grant, long now) {
        grants.add(grant);
        grant.scheduleEvent(now);
    }

    void forget(Grant grant) {
        grants.remove(grant);
    }

    void wakeBy(long at) {
        pacer.wakeBy(at);
    }

    /** Rings once at this time, unless it is cancelled. */
    Alarm alarm(long at, Runnable ring) {
        Alarm alarm;
        mutex.lock();
        try {
            alarm = new Alarm(at, numbers++, ring);
            alarms.add(alarm);
        } finally {
            mutex.unlock();
        }
        pacer.wakeBy(at);
        return alarm;
    }

    /** Forgets an alarm that is not needed any more, with all that hangs on it. */
    void cancel(Alarm alarm) {
        mutex.lock();
        try {
            alarms.remove(alarm);
        } finally {
            mutex.unlock();
        }
    }

    private long pass(long now) {
        long next = ringAlarms(now);
        for (Grant grant : grants) {
            if (grant.eventAt() <= now) {
                grant.resource().examine(grant);
            }
            next = Math.min(next, grant.isOver() ? Long.MAX_VALUE : grant.eventAt());
        }
        return next;
    }

    private long ringAlarms(long now) {
        while (true) {
            Alarm due;
            mutex.lock();
            try {
                if (alarms.isEmpty()) {
                    return Long.MAX_VALUE;
                }
                due = alarms.first();
                if (due.at() > now) {
                    return due.at();
                }
                alarms.remove(due);
            } finally {
                mutex.unlock();
            }
            due.ring().run();
        }
    }

    /** A number that grows with each beginning and each end of a pass. */
    long steps() {
        return pacer.steps();
    }

    /** Whether no pass is due or under way. */
    boolean isIdle() {
        return pacer.isIdle();
    }

    @Override
    public void close() {
        pacer.close();
    }
}
