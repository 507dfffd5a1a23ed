package dev.holdfast.quorum;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.Comparator;
import java.util.Queue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A clock that stands still, and what will happen at which time. Everything happens on one thread, in one order; but other threads
 * may add to it, such as those of a node whose calls block.
 */
final class SimulatedTime {

    private final ManualClock clock;
    private final Queue<Event> events =
            new PriorityBlockingQueue<>(16, Comparator.comparingLong(Event::at).thenComparingLong(Event::number));
    private final AtomicLong number = new AtomicLong();
    private volatile long now;
    private volatile @Nullable String failure;

    private record Event(long at, long number, Runnable what) {}

    SimulatedTime(long seed) {
        this.clock = new ManualClock(seed);
    }

    ManualClock clock() {
        return clock;
    }

    /** Nanoseconds since the beginning. */
    long now() {
        return now;
    }

    void after(long nanos, Runnable what) {
        events.add(new Event(now + nanos, number.getAndIncrement(), what));
    }

    /** Ends the run. The callers are callbacks, whose exceptions nobody sees. */
    void fail(String why) {
        failure = failure == null ? "at " + now / 1_000_000 + " ms: " + why : failure;
    }

    /** Lets everything happen that is due within this time. */
    void run(Duration span) {
        long end = now + span.toNanos();
        while (!events.isEmpty() && events.peek().at() <= end) {
            Event next = events.remove();
            // One that another thread has added meanwhile may be past.
            advanceTo(Math.max(now, next.at()));
            next.what().run();
            if (failure != null) {
                throw new AssertionError(failure);
            }
        }
        advanceTo(end);
    }

    private void advanceTo(long at) {
        clock.advance(Duration.ofNanos(at - now));
        now = at;
    }

    /** The clock of a server: it runs a little faster or slower, and its wall clock is wrong by a constant. */
    MonotonicClock serverClock(long partsPerMillion, Duration wrongBy) {
        long origin = clock.nanoTime();
        return new MonotonicClock() {
            @Override
            public long nanoTime() {
                long passed = clock.nanoTime() - origin;
                return origin + passed + passed / 1_000_000 * partsPerMillion;
            }

            @Override
            public long epochMicros() {
                return clock.epochMicros() + wrongBy.toNanos() / 1_000;
            }

            @Override
            public void parkNanos(Object blocker, long nanos) {
                throw new UnsupportedOperationException("nobody waits in a simulation");
            }
        };
    }
}
