package dev.holdfast.testkit;

import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A clock that stands still until a test moves it.
 *
 * <p>It starts at a random number, half of the time so close to the largest {@code long} that it overflows within a
 * minute, because code that compares times in the wrong way works with small numbers. The wall clock advances with
 * it, and can also be stepped alone.
 *
 * <p>Thread-safe. {@link #parkNanos} really parks the thread; {@link #advance} wakes the threads that have parked
 * until a time that is now over. No wake-up is lost between the two, in whatever order they run.
 */
public final class ManualClock implements MonotonicClock {

    private static final long NANOS_OF_A_MINUTE = 60_000_000_000L;
    private static final long SOME_DAY =
            ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse("2026-01-01T00:00:00Z"));

    /**
     * The real time, in nanoseconds, that {@link #advanceUntil} gives the threads it has woken before the next
     * step.
     */
    private static final long BREATH_NANOS = 1_000_000;

    private final Object monitor = new Object();

    /** The last time that each thread has read, until it parks; see {@link #parkNanos}. */
    private final ThreadLocal<@Nullable Long> lastRead = new ThreadLocal<>();

    private final List<Parked> parked = new ArrayList<>();
    private final String start;
    private Runnable onChange = () -> {};
    private long nanos;
    private long epochNanos;

    // This is not a record, so that two entries are never equal, and removing one cannot remove another.
    private static final class Parked {
        private final Thread thread;
        private final long deadline;

        private Parked(Thread thread, long deadline) {
            this.thread = thread;
            this.deadline = deadline;
        }
    }

    /** Creates a clock that starts at a number drawn from the JVM's seed (see {@link Seeds}). */
    public ManualClock() {
        this(Seeds.of("clock"));
    }

    /** Creates a clock whose start is drawn from a seed. */
    public ManualClock(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        boolean nearTheEnd = random.nextBoolean();
        this.nanos = nearTheEnd ? Long.MAX_VALUE - (random.nextLong() >>> 1) % NANOS_OF_A_MINUTE : random.nextLong();
        this.epochNanos = (SOME_DAY + random.nextInt(1_000_000_000)) * 1_000;
        this.start = "seed " + seed + ", started at " + nanos;
    }

    @Override
    public long nanoTime() {
        long now;
        synchronized (monitor) {
            now = nanos;
        }
        lastRead.set(now);
        return now;
    }

    @Override
    public long epochMicros() {
        synchronized (monitor) {
            return epochNanos / 1_000;
        }
    }

    /**
     * Sets what runs on each change of the time, on the thread that makes it, before any other thread can read the new time. So
     * a test can write the time to a server, whose answers then never lag behind this clock. It may read this clock.
     */
    public void whenChanged(Runnable action) {
        synchronized (monitor) {
            onChange = action;
        }
    }

    /**
     * Lets time pass, for the wall clock too, and wakes the threads whose time is over.
     *
     * @throws IllegalArgumentException if the duration is negative: a monotonic clock never goes back
     */
    public void advance(Duration duration) {
        if (duration.isNegative()) {
            throw new IllegalArgumentException("A monotonic clock does not go back, but was to advance by " + duration);
        }
        synchronized (monitor) {
            nanos += duration.toNanos();
            epochNanos += duration.toNanos();
            onChange.run();
            for (Parked sleeper : parked) {
                if (sleeper.deadline - nanos <= 0) {
                    LockSupport.unpark(sleeper.thread);
                }
            }
        }
    }

    /** Steps the wall clock forth or back, as an administrator or a time server does. No time passes. */
    public void stepWallClock(Duration step) {
        synchronized (monitor) {
            epochNanos += step.toNanos();
            onChange.run();
        }
    }

    /**
     * Advances in steps until a condition holds, and gives other threads a moment of real time after each.
     *
     * @throws AssertionError if it does not hold after {@code atMost} by this clock
     */
    public void advanceUntil(BooleanSupplier condition, Duration step, Duration atMost) {
        long steps = Math.max(1, atMost.toNanos() / step.toNanos());
        for (long i = 0; i < steps && !condition.getAsBoolean(); i++) {
            advance(step);
            LockSupport.parkNanos(this, BREATH_NANOS);
        }
        if (!condition.getAsBoolean()) {
            throw new AssertionError("What was waited for did not come to be within " + atMost + " by the " + this);
        }
    }

    /** How many threads are parked on this clock, or are about to be. */
    public int parkedThreads() {
        synchronized (monitor) {
            return parked.size();
        }
    }

    /**
     * Whether a thread is parked on this clock, or is about to be, for at least so long from now. Then it has computed its
     * deadline, and an {@link #advance} comes after that for sure.
     */
    public boolean isParked(Thread thread, Duration atLeast) {
        synchronized (monitor) {
            return parked.stream()
                    .anyMatch(
                            sleeper -> sleeper.thread.equals(thread) && sleeper.deadline - nanos >= atLeast.toNanos());
        }
    }

    /**
     * Parks until the manual time passes. The time counts from the value that the calling thread has read last. So
     * a thread that computes how much time is left until a deadline, and parks for that time, is woken at the
     * deadline, even if the clock was advanced in between.
     */
    @Override
    public void parkNanos(Object blocker, long duration) {
        Long read = lastRead.get();
        // The value is used once only: for a thread that parks again without reading the clock, the time counts
        // from now.
        lastRead.remove();
        if (duration <= 0) {
            return;
        }
        Parked self;
        synchronized (monitor) {
            self = new Parked(Thread.currentThread(), (read != null ? read : nanos) + duration);
            if (self.deadline - nanos <= 0) {
                return;
            }
            parked.add(self);
        }
        // An advance() at this point unparks this thread before it parks, and the permit makes park() return at once.
        try {
            LockSupport.park(blocker);
        } finally {
            synchronized (monitor) {
                parked.remove(self);
            }
        }
    }

    @Override
    public String toString() {
        return "manual clock (" + start + ")";
    }
}
