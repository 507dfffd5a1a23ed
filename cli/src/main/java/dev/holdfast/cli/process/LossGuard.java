package dev.holdfast.cli.process;

import dev.holdfast.Lease;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Ends the child's group before its lock can be granted to anyone else. Its thread reads the lease's local clock and
 * never calls the store, so that no hanging connection delays it.
 */
public final class LossGuard implements Runnable {

    /** When the classes for the kill are loaded. Most commands have ended by then and do not wait for it. */
    private static final Duration WARM_UP_AFTER = Duration.ofMillis(300);

    private final Lease lease;
    private final KillSchedule schedule;
    private final ChildGroup child;
    private final Thread thread = new Thread(this, "holdfast-guard");
    private volatile boolean stopped;
    private volatile boolean acted;
    private volatile @Nullable LossReason reason;

    private LossGuard(Lease lease, KillSchedule schedule, ChildGroup child) {
        this.lease = lease;
        this.schedule = schedule;
        this.child = child;
        thread.setDaemon(true);
    }

    public static LossGuard start(Lease lease, KillSchedule schedule, ChildGroup child) {
        LossGuard guard = new LossGuard(lease, schedule, child);
        guard.thread.start();
        lease.onLost(guard::lost);
        return guard;
    }

    private void lost(LossReason why) {
        reason = why;
        // A lock that was broken is lost long before its lease ends: the thread must check now.
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
        return lease.remaining().toNanos();
    }

    /** Whether a stopped child may go on: its lock is still held. */
    public boolean mayContinue() {
        return !acted && lease.isValid();
    }

    /** Whether the child was signalled to end. */
    public boolean hasActed() {
        return acted;
    }

    /** Why the lock was lost; null if it was not, or if the reason is not known yet. */
    @Nullable
    LossReason reason() {
        return reason;
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
