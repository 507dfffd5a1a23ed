package dev.holdfast.store;

import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.ArrayList;
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
 * The same limit of time for each of many calls, for stores whose clients answer by callbacks.
 *
 * <p>Nearly all calls end long before the limit, so it must cost them nothing: a timer for each call, as in {@link
 * CompletableFuture#orTimeout}, wakes the timer's thread for each call that finds no other one waiting. Here a call is noted
 * in a set, and a look at the set is due as long after the first as the limit is. A call is told that it is late not before
 * its limit, and some milliseconds after it on a machine that is not overloaded. Thread-safe.
 */
public final class TimeLimit {

    private final Duration limit;
    private final MonotonicClock clock;
    private final Function<Duration, Executor> later;
    private final Set<Call> underWay = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean lookIsDue = new AtomicBoolean();

    /** A call that is under way. */
    public final class Call {

        private final long deadline;
        private final Runnable late;

        private Call(long deadline, Runnable late) {
            this.deadline = deadline;
            this.late = late;
        }

        /** The call has ended. May be called more than once, and after it was told that it is late. */
        public void end() {
            underWay.remove(this);
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
     * @param clock the time
     * @param later what runs something after a delay
     */
    public TimeLimit(Duration limit, MonotonicClock clock, Function<Duration, Executor> later) {
        this.limit = limit;
        this.clock = clock;
        this.later = later;
    }

    /**
     * Begins the time of a call.
     *
     * @param late is run once, on another thread, if the call has not ended in time; it must not block. It may run while the
     *     call ends
     */
    public Call begin(Runnable late) {
        Call call = new Call(clock.nanoTime() + limit.toNanos(), late);
        underWay.add(call);
        lookLater(limit);
        return call;
    }

    /** Begins the time of a future, which fails with a {@link TimeoutException} if it is not complete by then. */
    public <T> CompletableFuture<T> on(CompletableFuture<T> future) {
        Call call = begin(() ->
                future.completeExceptionally(new TimeoutException("no answer within " + limit.toMillis() + " ms")));
        future.whenComplete((value, failure) -> call.end());
        return future;
    }

    private void lookLater(Duration delay) {
        if (!lookIsDue.get() && lookIsDue.compareAndSet(false, true)) {
            later.apply(delay).execute(this::look);
        }
    }

    private void look() {
        // From now on whoever begins sees to the next look; what began before is in the set.
        lookIsDue.set(false);
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
        for (Call call : overdue) {
            if (underWay.remove(call)) {
                call.late.run();
            }
        }
        if (first < Long.MAX_VALUE) {
            lookLater(Duration.ofNanos(first));
        }
    }
}
