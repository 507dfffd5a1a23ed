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

    /** How often it looks whether all have ended, once the command's first process has. */
    private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

    private final Holding holding;
    private final KillSchedule schedule;
    private final ChildGroup child;
    private final Thread thread = new Thread(this, "holdfast-guard");
    private volatile boolean leaderEnded;
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
        // Others who were signalled may outlive the first process, and work on. The lock must not be free before they
        // end.
        while (!leaderEnded || (acted && !child.isGone())) {
            KillSchedule.Step step = schedule.next(System.nanoTime(), leftNanos());
            switch (step.action()) {
                case TERMINATE -> {
                    acted = true;
                    child.terminate();
                }
                case KILL -> {
                    acted = true;
                    child.kill();
                }
                case NONE -> {}
            }
            if (leaderEnded) {
                LockSupport.parkNanos(this, Math.min(step.waitNanos(), LOOK_AGAIN.toNanos()));
            } else if (warm || step.waitNanos() < WARM_UP_AFTER.toNanos()) {
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

    /** Whether a stopped child may go on: its lock is still held, or nobody minds. */
    public boolean mayContinue() {
        return schedule.ignoresLoss() || leftNanos() > 0;
    }

    /**
     * Ends the guard when the command's first process has ended: at once if it ended by itself. If it was signalled to
     * end, the guard goes on until all that it signalled are gone, and kills them when that is due.
     *
     * @return whether it was signalled to end
     */
    public boolean finish() {
        leaderEnded = true;
        LockSupport.unpark(thread);
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException termIsOver) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return acted;
    }
}
