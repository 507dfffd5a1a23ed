package dev.holdfast.engine;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** A thread that runs the actions of a test one after the other. Tests need it because holds belong to threads. */
final class Actor implements AutoCloseable {

    /** An action that may throw. */
    interface Action {
        void run() throws Exception;
    }

    private static final Action END = () -> {};

    private final BlockingQueue<Action> actions = new LinkedBlockingQueue<>();
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger ended = new AtomicInteger();
    private final EngineClock clock;
    private final Thread thread;
    private volatile boolean inAction;

    Actor(String name, EngineClock clock, ThreadFactory factory) {
        this.clock = clock;
        this.thread = factory.newThread(this::work);
        thread.setName(name);
        clock.watch(this);
        thread.start();
    }

    private void work() {
        while (true) {
            try {
                Action action = actions.take();
                if (action == END) {
                    return;
                }
                action.run();
            } catch (Exception between) {
                // An interrupt came between two actions. Exceptions of an action itself are caught inside it.
            }
        }
    }

    /** Starts an action and returns at once. If the action leaves the interrupt flag set, the flag is cleared. */
    <T> CompletableFuture<T> start(Callable<T> call) {
        CompletableFuture<T> result = new CompletableFuture<>();
        begun.incrementAndGet();
        actions.add(() -> {
            inAction = true;
            T value = null;
            Throwable failure = null;
            try {
                value = call.call();
            } catch (Throwable thrown) {
                failure = thrown;
            }
            Thread.interrupted();
            if (failure != null) {
                result.completeExceptionally(failure);
            } else {
                result.complete(value);
            }
            inAction = false;
            ended.incrementAndGet();
        });
        return result;
    }

    /** Whether it has completed all its actions. */
    boolean isBetweenActions() {
        return ended.get() == begun.get();
    }

    /** Whether it has begun an action that has not ended. */
    boolean isInAction() {
        return inAction;
    }

    /** A number that grows with each beginning and each end of an action. */
    long steps() {
        return begun.get() + ended.get();
    }

    /** Starts an action without a result. */
    CompletableFuture<Void> begin(Action action) {
        return start(() -> {
            action.run();
            return null;
        });
    }

    /** Runs an action and waits for its end. */
    <T> T get(Callable<T> call) {
        return end(start(call));
    }

    /** Runs an action and waits for its end. */
    void run(Action action) {
        end(begin(action));
    }

    /**
     * Starts an action and waits until the thread is parked in it on the engine's clock, after all its steps so
     * far.
     */
    <T> CompletableFuture<T> park(Callable<T> call) {
        CompletableFuture<T> result = start(call);
        awaitParked(result);
        return result;
    }

    /** Does the same as {@link #park} for an action without a result. */
    CompletableFuture<Void> parkIn(Action action) {
        CompletableFuture<Void> result = begin(action);
        awaitParked(result);
        return result;
    }

    private void awaitParked(CompletableFuture<?> result) {
        Wait.until(thread.getName() + " waits", () -> clock.isParked(thread) || result.isDone());
        if (result.isDone()) {
            end(result);
            throw new AssertionError(thread.getName() + " was to wait, but has ended");
        }
    }

    void interrupt() {
        thread.interrupt();
    }

    Thread thread() {
        return thread;
    }

    @Override
    public void close() {
        actions.add(END);
        thread.interrupt();
    }

    /** Waits for the result of an action that was started. */
    static <T> T end(CompletableFuture<T> begun) {
        try {
            return begun.get(Wait.LONGEST_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException failure) {
            throw new AssertionError("It failed: " + failure.getCause(), failure.getCause());
        } catch (InterruptedException | TimeoutException endless) {
            throw new AssertionError("It did not end", endless);
        }
    }

    /** Waits for the exception of an action that was started. It must be of this type. */
    static <E extends Throwable> E failure(Class<E> type, CompletableFuture<?> begun) {
        try {
            Object value = begun.get(Wait.LONGEST_SECONDS, TimeUnit.SECONDS);
            throw new AssertionError("It was to fail with " + type.getSimpleName() + ", but ended with " + value);
        } catch (ExecutionException failure) {
            if (type.isInstance(failure.getCause())) {
                return type.cast(failure.getCause());
            }
            throw new AssertionError(
                    "It was to fail with " + type.getSimpleName() + ", but not with " + failure.getCause(),
                    failure.getCause());
        } catch (InterruptedException | TimeoutException endless) {
            throw new AssertionError("It did not end", endless);
        }
    }
}
