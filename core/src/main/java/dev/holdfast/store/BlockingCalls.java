package dev.holdfast.store;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes the calls of a store whose client blocks. A call runs on the calling thread if that is a platform thread,
 * which avoids two thread switches on the common path. Otherwise it runs on a bounded pool of this object, because
 * an interrupt would close the socket of a virtual thread.
 *
 * <p>The interrupt flag of the calling thread is cleared during a call and restored after it, so that a client
 * library does not abort in the middle of a call.
 */
public final class BlockingCalls implements AutoCloseable {

    /** The maximum number of calls that wait for a thread of the pool. A further call is refused. */
    public static final int MAX_QUEUED = 10_000;

    private static final MethodHandle IS_VIRTUAL = isVirtualHandle();

    private final boolean callerMayWork;
    private final @Nullable TimeLimit turns;
    private final ThreadPoolExecutor pool;

    /**
     * @param name the prefix of the names of the pool's threads
     * @param threads how many calls may run on the pool at once
     * @param callerMayWork false if every call must be made on the pool, because an interrupt of the calling thread in the
     *     middle of a call would harm the client (a file database over an interruptible channel)
     */
    public BlockingCalls(String name, int threads, boolean callerMayWork) {
        this(name, threads, callerMayWork, null);
    }

    /**
     * As the other constructor, with a time limit for the wait for a thread of the pool.
     *
     * @param turns limits how long a call waits for its turn; then it fails with effect NONE. Null for no limit
     */
    public BlockingCalls(String name, int threads, boolean callerMayWork, @Nullable TimeLimit turns) {
        this(name, threads, callerMayWork, turns, Thread::new);
    }

    BlockingCalls(String name, int threads, boolean callerMayWork, @Nullable TimeLimit turns, ThreadFactory factory) {
        this.callerMayWork = callerMayWork;
        this.turns = turns;
        AtomicInteger number = new AtomicInteger();
        this.pool = new ThreadPoolExecutor(
                threads, threads, 5, TimeUnit.SECONDS, new ArrayBlockingQueue<>(MAX_QUEUED), task -> {
                    Thread thread = factory.newThread(task);
                    thread.setName(name + "-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    return thread;
                });
        pool.allowCoreThreadTimeOut(true);
    }

    /**
     * Makes a call on the calling thread or on the pool. An exception of the call fails the stage; if the pool
     * refuses the call, or cannot start a thread for it, the stage fails with effect NONE.
     */
    public <T> CompletionStage<T> call(Supplier<T> call) {
        if (callerMayWork && !isVirtual(Thread.currentThread())) {
            return callHere(call);
        }
        return callOnPool(call);
    }

    /**
     * Makes a call on the calling thread, of whatever kind it is. This is for threads that are known to belong to
     * the store.
     */
    public static <T> CompletionStage<T> callHere(Supplier<T> call) {
        boolean interrupted = Thread.interrupted();
        try {
            return CompletableFuture.completedStage(call.get());
        } catch (RuntimeException failure) {
            return CompletableFuture.failedStage(failure);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private <T> CompletionStage<T> callOnPool(Supplier<T> call) {
        CompletableFuture<T> result = new CompletableFuture<>();
        AtomicBoolean over = new AtomicBoolean();
        TimeLimit.@Nullable Call turn = turns == null
                ? null
                : turns.begin(() -> {
                    if (over.compareAndSet(false, true)) {
                        result.completeExceptionally(StoreException.unavailable(
                                Effect.NONE, "Not sent: no thread was free for it in time; other calls hang", null));
                    }
                });
        try {
            pool.execute(() -> {
                if (turn != null) {
                    turn.end();
                }
                if (!over.compareAndSet(false, true)) {
                    return;
                }
                try {
                    result.complete(call.get());
                } catch (Throwable failure) {
                    result.completeExceptionally(failure);
                }
            });
        } catch (RejectedExecutionException | OutOfMemoryError refused) {
            if (turn != null) {
                turn.end();
            }
            // One that no thread could be started for may stay in the queue.
            if (!over.compareAndSet(false, true)) {
                return result;
            }
            String why = refused instanceof OutOfMemoryError
                    ? "no thread could be started for it"
                    : pool.isShutdown() ? "the store is closed" : MAX_QUEUED + " calls wait already";
            result.completeExceptionally(StoreException.unavailable(Effect.NONE, "Not sent: " + why, refused));
        }
        return result;
    }

    /**
     * Locks like {@link ReentrantLock#lock}, that is, without ending the wait on an interrupt, but for a limited
     * time. The interrupt flag is kept.
     *
     * @param clock measures how much of the time is left after an interrupt
     * @return false if the lock was not free in time
     */
    public static boolean lockWithin(ReentrantLock mutex, long nanos, MonotonicClock clock) {
        boolean interrupted = false;
        long deadline = clock.nanoTime() + nanos;
        try {
            while (true) {
                try {
                    return mutex.tryLock(deadline - clock.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException keptForLater) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Whether a thread is a virtual one; false on a JDK that has none. */
    public static boolean isVirtual(Thread thread) {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable impossible) {
            throw new AssertionError("Thread.isVirtual does not throw", impossible);
        }
    }

    /** Refuses further calls and lets running ones end. */
    @Override
    public void close() {
        pool.shutdown();
    }

    private static MethodHandle isVirtualHandle() {
        MethodType type = MethodType.methodType(boolean.class);
        try {
            return MethodHandles.publicLookup().findVirtual(Thread.class, "isVirtual", type);
        } catch (NoSuchMethodException | IllegalAccessException beforeJdk21) {
            return MethodHandles.dropArguments(MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }
}
