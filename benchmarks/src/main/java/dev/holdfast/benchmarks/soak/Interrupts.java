package dev.holdfast.benchmarks.soak;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Interrupts threads that have asked for it, and only while they are inside the piece of work that they meant. Thread-safe. */
final class Interrupts implements AutoCloseable {

    private final ScheduledExecutorService alarms = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "soak-interrupts");
        thread.setDaemon(true);
        return thread;
    });

    /** An interrupt that is to come. Closing it takes it back, and clears one that has come. Used by the thread it is for. */
    final class Due implements AutoCloseable {

        private final Thread thread = Thread.currentThread();
        private final Future<?> alarm;
        /** Guarded by this. */
        private boolean over;

        private Due(Duration delay) {
            alarm = alarms.schedule(this::ring, delay.toMillis(), TimeUnit.MILLISECONDS);
        }

        private synchronized void ring() {
            if (!over) {
                thread.interrupt();
            }
        }

        @Override
        public synchronized void close() {
            over = true;
            alarm.cancel(false);
            Thread.interrupted();
        }
    }

    /** Interrupts the calling thread after this time, unless it is closed before. */
    Due after(Duration delay) {
        return new Due(delay);
    }

    @Override
    public void close() {
        alarms.shutdownNow();
    }
}
