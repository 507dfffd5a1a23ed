package dev.holdfast.shedlock;

import dev.holdfast.Lease;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * The lock of a job that runs, in a store where locks end with the client's session. What such a store keeps without renewals is
 * far shorter than jobs take: two fifths of the session's time-out in ZooKeeper. So the lease is renewed, and a timer of this JVM
 * ends it. It is used once, like {@link JobLock}.
 */
final class SessionJobLock extends AbstractSimpleLock implements OwnJobLock {

    private final JobTimes times;
    private final Lease lease;
    /** Completed once: by the timer with true, or by the job, or its extension, with false, which stops the timer. */
    private final CompletableFuture<Boolean> timeIsOver = new CompletableFuture<>();
    /** What the timer does. */
    private final CompletableFuture<Void> released;

    private SessionJobLock(LockConfiguration configuration, JobTimes times, Lease lease) {
        super(configuration);
        this.times = times;
        this.lease = lease;
        // On the JDK's timer thread, which this does not block; tasks of the program may keep all threads of its pool.
        this.released = timeIsOver.thenCompose(
                byTimer -> byTimer ? lease.releaseAsync() : CompletableFuture.completedFuture(null));
    }

    /** The lock over a lease that is renewed, which ends with {@code lockAtMostFor} at the latest. */
    static SessionJobLock begin(LockConfiguration configuration, JobTimes times, Lease lease) {
        SessionJobLock lock = new SessionJobLock(configuration, times, lease);
        lock.timeIsOver.completeOnTimeout(true, times.left().toNanos(), TimeUnit.NANOSECONDS);
        return lock;
    }

    // Whether the timer has not come first. If it has, the lock is free when this returns.
    private boolean stopTimer() {
        if (timeIsOver.complete(false)) {
            return true;
        }
        released.exceptionally(lost -> null).join();
        return false;
    }

    @Override
    protected void doUnlock() {
        if (!stopTimer()) {
            JobLock.warnOfLoss(lockConfiguration, LossReason.EXPIRED);
            return;
        }
        Duration rest = times.rest();
        if (rest.isNegative() || rest.isZero() || !lease.isValid()) {
            JobLock.release(lease, lockConfiguration);
        } else {
            // A lease that outlives the client cannot be had here, so the lock itself is kept.
            JobLock.releaseAfter(rest, lease);
        }
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration wanted) {
        return extended(wanted).map(lock -> lock);
    }

    @Override
    public boolean isHeld() {
        return lease.isValid() && !isOver();
    }

    @Override
    public boolean isOver() {
        return times.areOver();
    }

    @Override
    public Optional<OwnJobLock> extended(LockConfiguration wanted) {
        if (!stopTimer()) {
            return Optional.empty();
        }
        if (!isHeld()) {
            JobLock.release(lease, lockConfiguration);
            return Optional.empty();
        }
        return Optional.of(begin(wanted, times.extended(wanted), lease));
    }

    @Override
    public void release() {
        if (stopTimer()) {
            JobLock.release(lease, lockConfiguration);
        }
    }
}
