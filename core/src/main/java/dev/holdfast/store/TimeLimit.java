package dev.holdfast.store;

import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * The same time limit for each of many calls, for stores whose clients answer by callbacks.
 *
 * <p>Nearly all calls end long before the limit, so the limit must not cost them anything. A timer for each call,
 * as in {@link CompletableFuture#orTimeout}, would wake the timer's thread for each call that finds no other one
 * waiting. Here a call is added to a set, and a sweep of the set runs one {@code limit} after the first call. The
 * callback of a late call runs not before its limit, and some milliseconds after it on a machine that is not
 * overloaded. Thread-safe.
 */
public final class TimeLimit {

    private final Duration limit;
    private final MonotonicClock clock;
    private final Function<Duration, Executor> later;
    private final Set<Call> underWay = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean sweepIsDue = new AtomicBoolean();
    /** Only for the order of the callbacks, so it need not be exact when threads begin calls at the same moment. */
    private long begun;

    /** A call that is under way. */
    public final class Call {

        private final long number;
        private final long deadline;
        private final Runnable late;

        private Call(long number, long deadline, Runnable late) {
            this.number = number;
            this.deadline = deadline;
            this.late = late;
        }

        /**
         * Notes that the call has ended. This may be called more than once, and after the callback of the late call
         * has run.
         *
         * @return whether it was this that ended the call; else the callback has run, or may still do so
         */
        public boolean end() {
            return underWay.remove(this);
        }
    }

    /** @param limit how long a call may take */
    public TimeLimit(Duration limit) {
        this(
                limit,
                MonotonicClock.SYSTEM,
                delay -> CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS, Runnable::run));
    }

    /**
     * @param limit how long a call may take
     * @param clock measures the time
     * @param later returns an executor that runs its tasks after the given delay
     */
    public TimeLimit(Duration limit, MonotonicClock clock, Function<Duration, Executor> later) {
        this.limit = limit;
        this.clock = clock;
        this.later = later;
    }

    /**
     * Starts the time limit of a call.
     *
     * @param late is run once, on another thread, if the call has not ended in time; it must not block. It may run
     *     while the call ends.
     */
    public Call begin(Runnable late) {
        Call call = new Call(begun++, clock.nanoTime() + limit.toNanos(), late);
        underWay.add(call);
        sweepLater(limit);
        return call;
    }

    /**
     * Starts the time limit of a future, which fails with a {@link TimeoutException} if it is not complete at the
     * end of the limit.
     */
    public <T> CompletableFuture<T> on(CompletableFuture<T> future) {
        Call call = begin(() ->
                future.completeExceptionally(new TimeoutException("no answer within " + limit.toMillis() + " ms")));
        future.whenComplete((value, failure) -> call.end());
        return future;
    }

    private void sweepLater(Duration delay) {
        if (!sweepIsDue.get() && sweepIsDue.compareAndSet(false, true)) {
            boolean scheduled = false;
            try {
                later.apply(delay).execute(this::sweep);
                scheduled = true;
            } finally {
                // Without memory for it none comes. The next call must not believe that one does.
                if (!scheduled) {
                    sweepIsDue.set(false);
                }
            }
        }
    }

    private void sweep() {
        // A call that begins from now on schedules the next sweep. Calls that began before are in the set.
        sweepIsDue.set(false);
        long now = clock.nanoTime();
        long first = Long.MAX_VALUE;
        List<Call> overdue = new ArrayList<>();
        for (Call call : underWay) {
            long left = call.deadline - now;
            if (left > 0) {
                first = Math.min(first, left);
            } else {
                overdue.add(call);
            }
        }
        if (first < Long.MAX_VALUE) {
            sweepLater(Duration.ofNanos(first));
        }
        overdue.sort(Comparator.comparingLong(call -> call.number));
        runAll(overdue);
    }

    // What one callback throws stops no other one. It goes to whoever runs the sweep.
    private void runAll(List<Call> overdue) {
        Throwable failure = null;
        for (Call call : overdue) {
            try {
                if (underWay.remove(call)) {
                    call.late.run();
                }
            } catch (RuntimeException | Error mistake) {
                failure = failure == null ? mistake : failure;
            }
        }
        if (failure instanceof Error error) {
            throw error;
        } else if (failure instanceof RuntimeException mistake) {
            throw mistake;
        }
    }
}
