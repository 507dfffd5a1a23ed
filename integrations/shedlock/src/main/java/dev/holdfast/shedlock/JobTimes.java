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

    /** A lock that ends by itself, with the lease of the store that comes nearest to {@code lockAtMostFor}. */
    LockOptions options() {
        return fixed(atMost);
    }

    static LockOptions fixed(Duration lease) {
        return LockOptions.defaults().withFixedLease(longEnough(lease));
    }

    static Duration longEnough(Duration lease) {
        return lease.compareTo(Claim.MIN_LEASE) < 0 ? Claim.MIN_LEASE : lease;
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
