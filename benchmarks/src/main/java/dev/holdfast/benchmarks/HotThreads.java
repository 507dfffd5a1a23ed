package dev.holdfast.benchmarks;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;

/** Threads of this JVM that lock and unlock one lock as fast as they can, and count. */
final class HotThreads implements AutoCloseable {

    private final Thread[] threads;
    private final long[] counts;
    private final long[] longestWait;
    private final CountDownLatch started;
    private volatile boolean stopped;
    /** Protected by the lock only: smaller than the sum of the counts if two threads were ever inside at once. */
    private long inside;

    HotThreads(int n, Lock lock, boolean exclusive) {
        threads = new Thread[n];
        counts = new long[n];
        longestWait = new long[n];
        started = new CountDownLatch(n);
        for (int i = 0; i < n; i++) {
            int self = i;
            threads[i] = new Thread(() -> work(self, lock, exclusive), "hot-" + i);
            threads[i].start();
        }
    }

    private void work(int self, Lock lock, boolean exclusive) {
        started.countDown();
        while (!stopped) {
            long asked = System.nanoTime();
            lock.lock();
            try {
                longestWait[self] = Math.max(longestWait[self], System.nanoTime() - asked);
                counts[self]++;
                if (exclusive) {
                    inside++;
                }
            } finally {
                lock.unlock();
            }
        }
    }

    void awaitStart() throws InterruptedException {
        started.await();
    }

    @Override
    public void close() throws InterruptedException {
        stopped = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    long total() {
        return Arrays.stream(counts).sum();
    }

    /** After {@link #close}: how many acquisitions overlapped with another, at least. */
    long overlaps() {
        return total() - inside;
    }

    double busiestToLaziest() {
        return (double) Arrays.stream(counts).max().orElse(0)
                / Math.max(1, Arrays.stream(counts).min().orElse(0));
    }

    double longestWaitMillis() {
        return Arrays.stream(longestWait).max().orElse(0) / 1e6;
    }
}
