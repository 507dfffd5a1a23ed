package dev.holdfast.shedlock;

import dev.holdfast.LockOptions;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import net.javacrumbs.shedlock.core.LockConfiguration;

/**
 * How long a job's lock lasts, counted from before it was asked for.
 *
 * @param since when it was asked for, or for its extension
 */
record JobTimes(MonotonicClock clock, long since, Duration atMost, Duration atLeast) {

    static JobTimes startingNow(LockConfiguration configuration, MonotonicClock clock) {
        return new JobTimes(
                clock, clock.nanoTime(), configuration.getLockAtMostFor(), configuration.getLockAtLeastFor());
    }

    /** A lock that ends by itself, and not before {@code lockAtMostFor}. */
    LockOptions options() {
        return fixed(leaseFor(atMost));
    }

    static LockOptions fixed(Duration lease) {
        return LockOptions.defaults().withFixedLease(lease);
    }

    /**
     * The lease with which a lock is sure to last for a time. A client takes its lock for lost a hundredth and 2 ms before the
     * lease is over, since clocks differ.
     */
    static Duration leaseFor(Duration time) {
        Duration lease = time.plus(time.dividedBy(99)).plusMillis(3);
        if (lease.compareTo(Claim.MIN_LEASE) < 0) {
            return Claim.MIN_LEASE;
        }
        boolean isCut = lease.compareTo(Claim.MAX_LEASE) > 0 && time.compareTo(Claim.MAX_LEASE) <= 0;
        return isCut ? Claim.MAX_LEASE : lease;
    }

    /** The same from now on for an extension, which never shortens. */
    JobTimes extended(LockConfiguration wanted) {
        JobTimes further = startingNow(wanted, clock);
        return left().compareTo(further.atMost) > 0
                ? new JobTimes(clock, further.since, left(), further.atLeast)
                : further;
    }

    /** How long the lock may still last; not positive if its time is over. */
    Duration left() {
        return atMost.minus(elapsed());
    }

    /** Whether {@code lockAtMostFor} is over, which the lease may outlast. */
    boolean areOver() {
        return elapsed().compareTo(atMost) >= 0;
    }

    /** How long the lock must stay taken after the job; not positive for no longer. */
    Duration rest() {
        return atLeast.minus(elapsed());
    }

    private Duration elapsed() {
        return Duration.ofNanos(clock.nanoTime() - since);
    }
}
