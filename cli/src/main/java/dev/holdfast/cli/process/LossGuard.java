package dev.holdfast.cli.process;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends the child's group before its lock can be granted to anyone else. Its thread reads the lease's local clock and
 * never calls the store, so that no hanging connection delays it.
 */
public final class LossGuard implements Runnable {

    /** When the classes for the kill are loaded. Most commands have ended by then and do not wait for it. */
    private static final Duration WARM_UP_AFTER = Duration.ofMillis(300);

    /** What the child may run for: a lease, or a term. It reads the local clock, and asks nobody. */
    @FunctionalInterface
    public interface Holding {
        /** What is left of it; zero if it is over. */
        Duration remaining();
    }

    private final Holding holding;
    private final KillSchedule schedule;
    private final ChildGroup child;
    private final Thread thread = new Thread(this, "holdfast-guard");
    private volatile boolean stopped;
    private volatile boolean acted;

    private LossGuard(Holding holding, KillSchedule schedule, ChildGroup child) {
        this.holding = holding;
        this.schedule = schedule;
        this.child = child;
        thread.setDaemon(true);
    }

    public static LossGuard start(Holding holding, KillSchedule schedule, ChildGroup child) {
        LossGuard guard = new LossGuard(holding, schedule, child);
        guard.thread.start();
        return guard;
    }

    /** The thread must check now: what was broken is lost long before its lease ends. */
    public void lost() {
        LockSupport.unpark(thread);
    }

    @Override
    public void run() {
        boolean warm = false;
        while (!stopped) {
            KillSchedule.Step step = schedule.next(System.nanoTime(), leftNanos());
            switch (step.action()) {
                case TERMINATE -> {
                    acted = true;
                    child.signal("TERM");
                }
                case KILL -> {
                    acted = true;
                    child.kill();
                }
                case NONE -> {}
            }
            if (warm || step.waitNanos() < WARM_UP_AFTER.toNanos()) {
                LockSupport.parkNanos(this, step.waitNanos());
            } else {
                LockSupport.parkNanos(this, WARM_UP_AFTER.toNanos());
                child.warmUp();
                warm = true;
            }
        }
    }

    private long leftNanos() {
        return holding.remaining().toNanos();
    }

    /** Whether a stopped child may go on: its lock is still held. */
    public boolean mayContinue() {
        return !acted && leftNanos() > 0;
    }

    /** Whether the child was signalled to end. */
    public boolean hasActed() {
        return acted;
    }

    /** Ends the guard. Call it when the child has ended, because nothing may be killed from then on. */
    public void stop() {
        stopped = true;
        LockSupport.unpark(thread);
        try {
            thread.join();
        } catch (InterruptedException signalled) {
            // The thread ends at once in any case; it only reads a flag.
            Thread.currentThread().interrupt();
        }
    }
}
