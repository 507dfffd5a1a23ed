package dev.holdfast.internal;

import dev.holdfast.spi.MonotonicClock;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A daemon thread that makes a pass whenever the earliest time that anybody asked for has come. It starts with the first
 * request, and a request that is later than the next pass costs one volatile read.
 */
final class Pacer implements AutoCloseable {

    /** After a pass that failed, which none should, the next one follows so soon. */
    private static final long AFTER_FAILURE_NANOS = 100_000_000;

    private final String name;
    private final MonotonicClock clock;
    private final long origin;
    private final LongUnaryOperator pass;
    private final AtomicLong wakeAt = new AtomicLong(Long.MAX_VALUE);
    /** Counts the beginnings and the ends of passes: odd while one is under way. */
    private final AtomicLong steps = new AtomicLong();

    private volatile @Nullable Thread thread;
    private volatile boolean closed;

    /**
     * @param origin what the clock showed at the engine's start
     * @param pass does what is due at the given time and returns when the next pass is due; must not throw
     */
    Pacer(String name, MonotonicClock clock, long origin, LongUnaryOperator pass) {
        this.name = name;
        this.clock = clock;
        this.origin = origin;
        this.pass = pass;
    }

    /** Asks for a pass at this time, or earlier. */
    void wakeBy(long at) {
        if (at >= wakeAt.get()) {
            return;
        }
        wakeAt.accumulateAndGet(at, Math::min);
        Thread running = thread;
        if (running != null) {
            LockSupport.unpark(running);
        } else {
            start();
        }
    }

    /** A number that grows with each beginning and each end of a pass. */
    long steps() {
        return steps.get();
    }

    /** Whether no pass is due or under way. */
    boolean isIdle() {
        boolean passing = steps.get() % 2 != 0;
        return !passing && (closed || wakeAt.get() > now());
    }

    private synchronized void start() {
        if (thread == null && !closed) {
            Thread started = new Thread(this::run, name);
            started.setDaemon(true);
            thread = started;
            started.start();
        }
    }

    private void run() {
        while (!closed) {
            steps.incrementAndGet();
            // Requests that come during the pass find MAX_VALUE and lower it, so none is lost.
            wakeAt.set(Long.MAX_VALUE);
            long next = safePass();
            wakeAt.accumulateAndGet(next, Math::min);
            steps.incrementAndGet();
            long wait = wakeAt.get() - now();
            while (!closed && wait > 0) {
                clock.parkNanos(this, wait);
                wait = wakeAt.get() - now();
            }
        }
    }

    // Whatever goes wrong, the next pass must be made: without this thread nothing is renewed, or no loss is declared.
    private long safePass() {
        try {
            return pass.applyAsLong(now());
        } catch (Throwable failure) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
            return now() + AFTER_FAILURE_NANOS;
        }
    }

    private long now() {
        return clock.nanoTime() - origin;
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
