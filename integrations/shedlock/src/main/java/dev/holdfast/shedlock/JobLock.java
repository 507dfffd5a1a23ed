package dev.holdfast.shedlock;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The lock of a job that runs. It is used once: its extension is another one, over the same lease. */
final class JobLock extends AbstractSimpleLock implements OwnJobLock {

    private static final Logger LOG = LoggerFactory.getLogger(JobLock.class);

    private final Holdfast locks;
    private final JobTimes times;
    private final Lease lease;

    JobLock(Holdfast locks, LockConfiguration configuration, JobTimes times, Lease lease) {
        super(configuration);
        this.locks = locks;
        this.times = times;
        this.lease = lease;
    }

    @Override
    protected void doUnlock() {
        Duration rest = times.rest();
        if (rest.isNegative() || rest.isZero()) {
            release();
        } else if (rest.compareTo(Claim.MIN_LEASE) < 0) {
            // No store has such a short lease. If this process dies meanwhile, that is as if the job had run.
            releaseAfter(rest, lease);
        } else if (lease.isValid()) {
            // In this order, so that at every moment one of the two is held. If the first fails, the lock of the job
            // stays until lockAtMostFor.
            locks.lock(lockConfiguration.getName() + HoldfastLockProvider.AT_LEAST, JobTimes.fixed(rest))
                    .tryAcquire()
                    .ifPresent(JobLock::leave);
            release();
        } else {
            release();
        }
    }

    // If it is over already, so is lockAtLeastFor: nothing must stay taken for longer.
    private static void leave(Lease rest) {
        try {
            rest.letExpire();
        } catch (LockLostException over) {
            LOG.debug("lockAtLeastFor was over before it was left to the store", over);
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
        if (!isHeld()) {
            release();
            return Optional.empty();
        }
        JobTimes further = times.extended(wanted);
        try {
            lease.extend(JobTimes.leaseFor(wanted.getLockAtMostFor()));
        } catch (LockLostException lost) {
            return Optional.empty();
        }
        return Optional.of(new JobLock(locks, wanted, further, lease));
    }

    @Override
    public void release() {
        release(lease, lockConfiguration);
    }

    // On the JDK's timer thread, which this does not block; tasks of the program may keep all threads of its pool.
    static void releaseAfter(Duration rest, Lease lease) {
        new CompletableFuture<Void>()
                .completeOnTimeout(null, rest.toNanos(), TimeUnit.NANOSECONDS)
                .thenCompose(over -> lease.releaseAsync());
    }

    /** Releases the lock of a job. If it was lost, a warning is logged, and the job does not learn of it. */
    static void release(Lease lease, LockConfiguration job) {
        try {
            lease.release();
        } catch (LockLostException lost) {
            warnOfLoss(job, lost.reason());
        }
    }

    static void warnOfLoss(LockConfiguration job, LossReason reason) {
        LOG.warn(
                "The job {} has lost its lock ({}); others may have run it at the same time. If it takes longer than"
                        + " lockAtMostFor, {}, give it more time or extend the lock.",
                job.getName(),
                reason,
                job.getLockAtMostFor());
    }
}
