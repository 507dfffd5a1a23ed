package dev.holdfast.engine;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Wakeable;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A {@link ManualClock} that knows which threads are parked on it, so that a test can continue when a thread really
 * waits, and when all work that was due has been done.
 *
 * <p>The time of a park is counted from the moment at which the thread last read the clock, and not from the park,
 * so that an {@link #advance} between the two cannot make it longer.
 */
final class EngineClock implements MonotonicClock {

    private static final int BREATHS = 4;
    private static final long BREATH_NANOS = 100_000;

    /** One call of {@link #parkNanos} by a thread. */
    private record Park(Object blocker, long deadline) {

        /** Whether its thread is due to wake up, and has not done so yet. */
        boolean isOver(long now) {
            return deadline - now <= 0
                    || (blocker instanceof Wakeable wakeable && wakeable.isWoken())
                    || (blocker instanceof Future<?> future && future.isDone());
        }
    }

    private record Task(long at, Runnable work) {}

    private final ManualClock manual = new ManualClock();
    private final Map<Thread, Park> parked = new ConcurrentHashMap<>();
    private final Map<String, CountDownLatch> heldBack = new ConcurrentHashMap<>();
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
            // An advance before this line is seen here. An advance after it unparks this thread.
            manual.parkNanos(blocker, deadline - manual.nanoTime());
            awaitUnlessInterrupted(heldBack.get(self.getName()));
        } finally {
            // The order matters: a check that still sees the park must find a changed count at the next check.
            parked.remove(self);
            parks.incrementAndGet();
        }
    }

    /**
     * Keeps the threads of this name from noticing that their time is over, so that something else comes first for sure.
     *
     * @return lets them go on
     */
    Runnable holdBack(String thread) {
        CountDownLatch goOn = new CountDownLatch(1);
        heldBack.put(thread, goOn);
        return () -> {
            heldBack.remove(thread, goOn);
            goOn.countDown();
        };
    }

    private static void awaitUnlessInterrupted(@Nullable CountDownLatch goOn) {
        if (goOn != null) {
            try {
                goOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Makes {@link #settle} wait for this engine too, from now on. */
    void watch(Engine engine) {
        engines.add(engine);
    }

    /** Makes {@link #settle} wait for this actor too, from now on. */
    void watch(Actor actor) {
        actors.add(actor);
    }

    /** An executor whose tasks run after this delay, on the thread that advances the clock. */
    Executor after(Duration delay) {
        return work -> tasks.add(new Task(manual.nanoTime() + delay.toNanos(), work));
    }

    /** Lets time pass. Threads whose time is over continue concurrently. */
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

    /** Lets time pass, and waits until engines and actors have done all work that was due. */
    void advanceAndSettle(Duration duration) {
        advance(duration);
        settle();
    }

    /**
     * Waits until engines and actors have done all work that is due, and all work that follows from it. It does not
     * wait for callbacks of users, because these may block for ever.
     */
    void settle() {
        Wait.until("engines and actors have done what is due", this::isSettled);
    }

    // Checks twice, because a thread that was idle when it was checked may be woken by another one that is checked
    // later. If nothing has begun or ended meanwhile, the second check has seen all of them idle at the same time.
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
                && engines.stream().mapToLong(Engine::tasks).sum() == 0;
    }

    // An actor that waits for something other than time and the lock waits for its test.
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

    private long steps() {
        return parks.get()
                + engines.stream().mapToLong(Engine::steps).sum()
                + actors.stream().mapToLong(Actor::steps).sum();
    }

    /**
     * Lets time pass in steps until a condition holds. After each step it waits for all work that was due, and for
     * callbacks that do not block; those of a user's executor get a moment.
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
            if (haveCallbacksCome()) {
                advance(step);
            }
            return false;
        });
    }

    // Else time could pass faster than a busy machine runs the callbacks. Those that block are not waited for.
    private boolean haveCallbacksCome() {
        long pending = engines.stream()
                .mapToLong(engine -> engine.callbacks().pending())
                .sum();
        return pending == 0 || pending <= blockedCallbacks();
    }

    private static long blockedCallbacks() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(thread -> thread.getKey().getName().startsWith("holdfast-callback")
                        && thread.getKey().getState() != Thread.State.RUNNABLE
                        && Arrays.stream(thread.getValue()).anyMatch(EngineClock::isOfATask))
                .count();
    }

    private static boolean isOfATask(StackTraceElement frame) {
        return frame.getClassName().equals("dev.holdfast.internal.Lane")
                && frame.getMethodName().equals("end");
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
