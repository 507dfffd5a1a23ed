package dev.holdfast.zookeeper.session;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Runs tasks after a delay, on one thread of its own. The tasks must not block. Thread-safe. */
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
            // The tasks only clean up, and the end of the session does the same.
            return;
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
