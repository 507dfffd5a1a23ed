package dev.holdfast.spring.locked;

import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A lock that is held as a lease.
 *
 * @param request what it was taken for
 * @param lease the lease
 * @param since when it was acquired, by the monotonic clock
 */
record LeaseHold(LockRequest request, Lease lease, long since) implements HeldLock {

    static LeaseHold of(LockRequest request, Lease lease) {
        return new LeaseHold(request, lease, MonotonicClock.SYSTEM.nanoTime());
    }

    @Override
    public @Nullable LockLostException loss() {
        if (lease.state() != LeaseState.LOST) {
            return null;
        }
        try {
            lease.extend(Claim.MIN_LEASE); // asks nobody: a lost lease cannot be extended, and says why
            return null;
        } catch (LockLostException lost) {
            return lost;
        }
    }

    @Override
    public boolean covers(LockRequest other) {
        return lease.isValid() && request.covers(other);
    }

    @Override
    public void release() {
        Duration rest = rest();
        if (rest.isZero()) {
            lease.release();
            return;
        }
        LockLostException lost = loss();
        if (lost != null) {
            throw lost;
        }
        releaseAfter(rest);
    }

    /** Gives the lock up without waiting for the store. The future fails with {@link LockLostException} if it was lost. */
    CompletableFuture<Void> releaseAsync() {
        Duration rest = rest();
        if (rest.isZero()) {
            return lease.releaseAsync();
        }
        LockLostException lost = loss();
        if (lost != null) {
            return CompletableFuture.failedFuture(lost);
        }
        releaseAfter(rest);
        return CompletableFuture.completedFuture(null);
    }

    private Duration rest() {
        Duration held = Duration.ofNanos(MonotonicClock.SYSTEM.nanoTime() - since);
        Duration rest = request.method().lockAtLeast().minus(held);
        return rest.isNegative() ? Duration.ZERO : rest;
    }

    private void releaseAfter(Duration rest) {
        CompletableFuture.delayedExecutor(rest.toNanos(), TimeUnit.NANOSECONDS).execute(lease::releaseAsync);
    }
}
