package dev.holdfast.engine;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.Wakeable;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * A {@link ManualClock} that knows who is parked on it, so that a test can go on when a thread really waits, and when all
 * that a moment brings has been done.
 *
 * <p>A park ends at the time that its thread had in mind: it is counted from the thread's last look at the clock, and not
 * from the park, so that an {@link #advance} between the two cannot make it longer.
 */
final class EngineClock implements MonotonicClock {

    private static final int BREATHS = 4;
    private static final long BREATH_NANOS = 100_000;

    /** One stay of a thread in {@link #parkNanos}. */
    private record Park(Object blocker, long deadline) {

        /** Whether its thread has something to do, and only has not come to it yet. */
        boolean isOver(long now) {
            return deadline - now <= 0
                    || (blocker instanceof Wakeable wakeable && wakeable.isWoken())
                    || (blocker instanceof Future<?> future && future.isDone());
        }
    }

    private record Task(long at, Runnable work) {}

    private final ManualClock manual = new ManualClock();
    private final Map<Thread, Park> parked = new ConcurrentHashMap<>();
    private final AtomicLong parks = new AtomicLong();
    private final ThreadLocal<Long> lastLook = ThreadLocal.withInitial(manual::nanoTime);
    private final List<Engine> engines = new CopyOnWriteArrayList<>();
    private final List<Actor> actors = new CopyOnWriteArrayList<>();
    private final Queue<Task> tasks = new ConcurrentLinkedQueue<>();

    @Override
    public long nanoTime() {
        long now = manual.nanoTime();
        lastLook.set(now);
        return now;
    }

    @Override
    public long epochMicros() {
        return manual.epochMicros();
    }

    @Override
    public void parkNanos(Object blocker, long nanos) {
        Thread self = Thread.currentThread();
        long deadline = lastLook.get() + nanos;
        parked.put(self, new Park(blocker, deadline));
        try {
            // An advance before this line is seen here, one after it unparks this thread.
            manual.parkNanos(blocker, deadline - manual.nanoTime());
        } finally {
            // In this order: a look that still sees the park must find the count changed by the next look.
            parked.remove(self);
            parks.incrementAndGet();
        }
    }

    /** From now on {@link #settle} waits for this engine too. */
    void watch(Engine engine) {
        engines.add(engine);
    }

    /** From now on {@link #settle} waits for this actor too. */
    void watch(Actor actor) {
        actors.add(actor);
    }

    /** An executor whose tasks run when so much time has passed, in the thread that lets it pass. */
    Executor after(Duration delay) {
        return work -> tasks.add(new Task(manual.nanoTime() + delay.toNanos(), work));
    }

    /** Lets time pass. Threads whose time has come run on meanwhile. */
    void advance(Duration duration) {
        manual.advance(duration);
        runTasks();
        long now = manual.nanoTime();
        parked.forEach((thread, park) -> {
            if (park.deadline() - now <= 0) {
                LockSupport.unpark(thread);
            }
        });
    }

    private void runTasks() {
        for (Task task : tasks) {
            if (task.at() - manual.nanoTime() <= 0 && tasks.remove(task)) {
                task.work().run();
            }
        }
    }

    /** Lets time pass, and waits until engines and actors have done what was due. */
    void advanceAndSettle(Duration duration) {
        advance(duration);
        settle();
    }

    /**
     * Waits until engines and actors have done what is due, and what follows from it. Call-backs of users are not waited
     * for, since they may block for ever.
     */
    void settle() {
        Wait.until("engines and actors have done what is due", this::isSettled);
    }

    // Two looks, because what was quiet at its turn may be woken by another whose turn comes later. If nothing has
    // begun
    // or ended meanwhile, then the second look has seen them all quiet together.
    private boolean isSettled() {
        runTasks();
        long before = steps();
        for (int look = 0; look < 2; look++) {
            if (!isQuiet()) {
                return false;
            }
        }
        return steps() == before;
    }

    private boolean isQuiet() {
        long now = manual.nanoTime();
        return actors.stream().allMatch(this::isQuiet)
                && parked.entrySet().stream()
                        .noneMatch(sleeper -> sleeper.getValue().isOver(now)
                                || sleeper.getKey().isInterrupted())
                && engines.stream().allMatch(Engine::isIdle)
                && engines.stream().mapToLong(Engine::tasks).sum() == parkedTasks();
    }

    // An actor that waits for something else than time and the lock waits for its test.
    private boolean isQuiet(Actor actor) {
        if (actor.isBetweenActions() || parked.containsKey(actor.thread())) {
            return true;
        }
        if (!actor.isInAction()) {
            return false;
        }
        Object blocker = LockSupport.getBlocker(actor.thread());
        return blocker != null && !blocker.getClass().getName().startsWith(ReentrantLock.class.getName());
    }

    private long parkedTasks() {
        return parked.keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-io-"))
                .count();
    }

    private long steps() {
        return parks.get()
                + engines.stream().mapToLong(Engine::steps).sum()
                + actors.stream().mapToLong(Actor::steps).sum();
    }

    /**
     * Lets time pass in steps until something has come to be. After each, all that was due is done first, and threads that
     * call users back are given a moment.
     */
    void advanceUntil(String what, Duration step, BooleanSupplier condition) {
        Wait.until(what, () -> {
            settle();
            for (int breath = 0; breath < BREATHS && !condition.getAsBoolean(); breath++) {
                LockSupport.parkNanos(BREATH_NANOS);
            }
            if (condition.getAsBoolean()) {
                return true;
            }
            advance(step);
            return false;
        });
    }

    void stepWallClock(Duration step) {
        manual.stepWallClock(step);
    }

    boolean isParked(Thread thread) {
        return parked.containsKey(thread);
    }

    @Override
    public String toString() {
        return manual.toString();
    }
}
