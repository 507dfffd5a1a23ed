package dev.holdfast.benchmarks.soak;

import dev.holdfast.Holdfast;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that use the clients of all stores for a time, at a pace, and others that open clients and close them. All of them have
 * ended when {@link #run} returns. Used once.
 */
final class Round {

    private static final int THREADS_EACH = 4;
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration LOOK = Duration.ofMillis(20);
    /** A client in so many turns is closed with all that it holds and waits for. */
    private static final int TURNS_FOR_EACH_ABANDONED = 2;

    private static final int DEEDS_OF_A_SHORT_CLIENT = 3;

    private final Interrupts interrupts;
    private final AtomicLong operations;
    private final Failures failures;
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isOver;

    /** A piece of work that is repeated. */
    private interface Turn {
        void take() throws InterruptedException;
    }

    /** @param operations counts what was done */
    Round(Interrupts interrupts, AtomicLong operations, Failures failures) {
        this.interrupts = interrupts;
        this.operations = operations;
        this.failures = failures;
    }

    /**
     * Adds a store.
     *
     * @param clients those that stay open
     * @param perSecond how many deeds in a second its threads do together, at most
     * @param openEvery how often another client is opened and closed
     */
    void add(SoakedStore store, List<Holdfast> clients, double perSecond, Duration openEvery) {
        long pause = (long) (TimeUnit.SECONDS.toNanos(1) * THREADS_EACH * clients.size() / perSecond);
        for (Holdfast client : clients) {
            Deeds deeds = new Deeds(client, interrupts, true);
            for (int i = 0; i < THREADS_EACH; i++) {
                add(store, pause, deeds::doOne);
            }
        }
        add(store, openEvery.toNanos(), () -> openAndClose(store));
    }

    private void add(SoakedStore store, long pause, Turn turn) {
        Thread thread = new Thread(() -> repeat(store, pause, turn), "soak-" + store.name() + "-" + threads.size());
        thread.setDaemon(true);
        threads.add(thread);
    }

    /** Lets all of them work for this time. */
    void run(Duration time) throws InterruptedException {
        threads.forEach(Thread::start);
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - end < 0) {
            LockSupport.parkNanos(LOOK.toNanos());
        }
        isOver = true;
        long patience = System.nanoTime() + PATIENCE.toNanos();
        for (Thread thread : threads) {
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(patience - System.nanoTime())));
            if (thread.isAlive()) {
                IllegalStateException hangs = new IllegalStateException(
                        thread.getName() + " has not come to an end within " + PATIENCE + "; it is where this shows");
                hangs.setStackTrace(thread.getStackTrace());
                failures.add(thread.getName(), hangs);
            }
        }
    }

    private void repeat(SoakedStore store, long pause, Turn turn) {
        Random random = new Random();
        while (!isOver) {
            try {
                // The pause comes first, so that all are not at work in the same moment.
                rest((long) (pause * 2 * random.nextDouble()));
                if (!isOver) {
                    turn.take();
                    operations.incrementAndGet();
                }
            } catch (InterruptedException | RuntimeException failure) {
                failures.add(store.name(), failure);
            }
        }
    }

    private void rest(long nanos) {
        long end = System.nanoTime() + nanos;
        for (long left = nanos; left > 0 && !isOver; left = end - System.nanoTime()) {
            LockSupport.parkNanos(Math.min(left, LOOK.toNanos() * 10));
        }
    }

    private void openAndClose(SoakedStore store) throws InterruptedException {
        try (Holdfast client = store.connect("soak-short")) {
            Deeds deeds = new Deeds(client, interrupts, false);
            for (int i = 0; i < DEEDS_OF_A_SHORT_CLIENT; i++) {
                deeds.doOne();
                operations.incrementAndGet();
            }
            if (operations.get() % TURNS_FOR_EACH_ABANDONED == 0) {
                deeds.abandon();
            }
        }
    }
}
