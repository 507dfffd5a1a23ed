package dev.holdfast.internal;

import dev.holdfast.spi.MonotonicClock;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Declares losses when their time has come, and rings alarms. Its thread does no I/O and runs no user code, so that it is
 * in time even while the store hangs and every listener blocks.
 */
final class Timer implements AutoCloseable {

    private record Alarm(long at, Runnable ring) implements Comparable<Alarm> {
        @Override
        public int compareTo(Alarm other) {
            return Long.compare(at, other.at);
        }
    }

    private final Set<Grant> grants = ConcurrentHashMap.newKeySet();
    private final PriorityQueue<Alarm> alarms = new PriorityQueue<>();
    private final ReentrantLock mutex = new ReentrantLock();
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

    /**
     * Rings once at this time.
     *
     * @param ring must neither block nor throw
     */
    void alarm(long at, Runnable ring) {
        mutex.lock();
        try {
            alarms.add(new Alarm(at, ring));
        } finally {
            mutex.unlock();
        }
        pacer.wakeBy(at);
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
                due = alarms.peek();
                if (due == null || due.at() > now) {
                    return due == null ? Long.MAX_VALUE : due.at();
                }
                alarms.remove();
            } finally {
                mutex.unlock();
            }
            due.ring().run();
        }
    }

    @Override
    public void close() {
        pacer.close();
    }
}
