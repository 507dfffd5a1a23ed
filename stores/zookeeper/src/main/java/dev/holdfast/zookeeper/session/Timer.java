package dev.holdfast.zookeeper.session;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Does things later, on one thread of its own. What is done must not block. Thread-safe. */
public final class Timer implements AutoCloseable {

    private final ScheduledThreadPoolExecutor thread;

    public Timer() {
        this.thread = new ScheduledThreadPoolExecutor(1, task -> {
            Thread worker = new Thread(task, "holdfast-zookeeper");
            worker.setDaemon(true);
            return worker;
        });
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    public void after(Duration delay, Runnable task) {
        try {
            thread.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closed) {
            // What would be done later is clean-up, and the end of the session does it too.
            return;
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
