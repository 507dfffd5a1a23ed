package dev.holdfast.internal;

import dev.holdfast.internal.time.Simulator;
import dev.holdfast.internal.time.Uncaught;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Daemon threads for one kind of work. There are as many as there are tasks at once up to a limit, beyond which tasks wait;
 * an idle one ends after a while. With a {@link Simulator} there are no threads.
 */
final class Lane implements AutoCloseable {

    private static final long IDLE_SECONDS = 10;

    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    /** An idle thread takes a task at once; if there is none, a thread is started, or the task is refused. */
    private final ThreadPoolExecutor pool;
    /** Tasks that nobody has begun. */
    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    /** How many threads will look for further tasks before they become idle. */
    private final AtomicInteger working = new AtomicInteger();

    private final int maxThreads;
    private final @Nullable Simulator simulator;

    /** @param simulator runs the tasks; null if threads do it */
    Lane(String name, int maxThreads, @Nullable Simulator simulator) {
        this.maxThreads = maxThreads;
        this.simulator = simulator;
        AtomicInteger number = new AtomicInteger();
        this.pool = new ThreadPoolExecutor(
                0, maxThreads, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
                    Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    return thread;
                });
    }

    /** Runs a task; false if the lane is closed and it will not run. */
    boolean run(Runnable task) {
        if (simulator != null) {
            return simulate(simulator, task);
        }
        begun.incrementAndGet();
        waiting.add(task);
        while (!tryStart()) {
            if (pool.isShutdown()) {
                // Perhaps a thread that is still at work has found it.
                boolean refused = waiting.remove(task);
                ended.addAndGet(refused ? 1 : 0);
                return !refused;
            }
            if (working.get() >= maxThreads) {
                // Each of them looks for tasks once more after this moment.
                return true;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    private boolean simulate(Simulator instead, Runnable task) {
        if (pool.isShutdown()) {
            return false;
        }
        begun.incrementAndGet();
        instead.later(() -> end(task));
        return true;
    }

    // False if there is neither an idle thread nor room for another one.
    private boolean tryStart() {
        try {
            pool.execute(this::work);
            return true;
        } catch (RejectedExecutionException busyOrClosed) {
            return false;
        } catch (OutOfMemoryError tooManyThreads) {
            // Whoever works next finds the task. The caller is in the middle of a change, which must come to its end.
            Uncaught.report(tooManyThreads);
            return true;
        }
    }

    private void work() {
        do {
            working.incrementAndGet();
            for (Runnable task = waiting.poll(); task != null; task = waiting.poll()) {
                end(task);
                // What one task has left must not hit the next one.
                Thread.interrupted();
            }
            working.decrementAndGet();
        } while (!waiting.isEmpty());
    }

    private void end(Runnable task) {
        try {
            task.run();
        } catch (Throwable failure) {
            Uncaught.report(failure);
        } finally {
            ended.incrementAndGet();
        }
    }

    /** How many tasks have not ended. */
    long pending() {
        // In this order: else a task that begins another one and ends between the two could hide it.
        long over = ended.get();
        return begun.get() - over;
    }

    /** A number that grows with each beginning and each end of a task. */
    long steps() {
        return begun.get() + ended.get();
    }

    /** Ends its threads when the tasks that it has are done. */
    @Override
    public void close() {
        pool.shutdown();
    }
}
