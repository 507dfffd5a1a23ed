package dev.holdfast.redis.plain;

import dev.holdfast.redis.record.ClaimArguments;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The grants that this store object knows the strings of. Only they can be released and renewed by a single command; what is not
 * in here, or is here no longer, is left to the scripts. Thread-safe.
 */
final class PlainGrants {

    /** So many are kept without looking for those that nobody has released and that are over. */
    private static final int LOOK_AT = 1_024;

    private final Map<ClaimId, PlainGrant> grants = new ConcurrentHashMap<>();
    private final MonotonicClock clock;
    private final long askEvery;
    private volatile int lookAt = LOOK_AT;

    /** @param keep how long the record beside the string outlives the last script that touched it, at least */
    PlainGrants(MonotonicClock clock, Duration keep) {
        this.clock = clock;
        this.askEvery = keep.toNanos() / 2;
    }

    /**
     * Remembers a grant.
     *
     * @param leftMicros what is left of it
     */
    void written(Claim claim, long counter, long since, long ends, long leftMicros) {
        long now = clock.nanoTime();
        boolean endsWithItsLease = leftMicros <= ClaimArguments.millis(claim.lease()) * 1_000;
        PlainGrant grant = new PlainGrant(claim, counter, since, ends, endsWithItsLease, now + askEvery);
        grant.livesUntil(now + leftMicros * 1_000);
        grants.put(claim.id(), grant);
        if (grants.size() > lookAt) {
            grants.values().removeIf(other -> other.isOver(now));
            lookAt = Math.max(LOOK_AT, 2 * grants.size());
        }
    }

    /** The grant that a single command can renew as this claim asks for. */
    @Nullable
    PlainGrant renewedBy(Claim claim) {
        PlainGrant grant = grants.get(claim.id());
        return grant != null && grant.isRenewedBy(claim, clock.nanoTime()) ? grant : null;
    }

    /** A single command has renewed a grant. */
    void renewed(PlainGrant grant, Duration lease) {
        grant.livesUntil(clock.nanoTime() + lease.toNanos());
    }

    @Nullable
    PlainGrant forget(ClaimId id) {
        return grants.remove(id);
    }

    /** How many are known. */
    int size() {
        return grants.size();
    }
}
