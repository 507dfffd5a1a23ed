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
 * @param interrupt what a loss does to the thread of the method
 */
record LeaseHold(LockRequest request, Lease lease, long since, LossInterrupt interrupt) implements HeldLock {

    static LeaseHold of(LockRequest request, Lease lease) {
        long now = MonotonicClock.SYSTEM.nanoTime();
        boolean interrupts = request.method().options().interruptOnLoss();
        return new LeaseHold(request, lease, now, interrupts ? LossInterrupt.begin(lease) : LossInterrupt.none());
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
    public void methodEnded() {
        interrupt.end();
    }

    @Override
    public void release() {
        interrupt.end();
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
        interrupt.end();
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

    // On the JDK's timer thread, which this does not block; tasks of the program may keep all threads of its pool.
    private void releaseAfter(Duration rest) {
        new CompletableFuture<Void>()
                .completeOnTimeout(null, rest.toNanos(), TimeUnit.NANOSECONDS)
                .thenCompose(over -> lease.releaseAsync());
    }
}
