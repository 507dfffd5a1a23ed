package dev.holdfast.internal.lock;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The ways to acquire a lock. Each of them is one call of {@link #acquire(boolean, long, boolean)} or {@link #acquireAsync(long)}. */
abstract class AbstractDistributedLock implements DistributedLock {

    final Engine engine;
    /** What is acquired; of several names the first one. */
    final LockSpec spec;

    AbstractDistributedLock(Engine engine, LockSpec spec) {
        this.engine = engine;
        this.spec = spec;
    }

    /**
     * Acquires for the calling thread.
     *
     * @param holds whether the hold becomes the thread's own, through {@code lock()}; if not, it is a lease
     * @param maxWait in nanoseconds; zero not to wait for the lock's turn; {@link Nanos#NEVER} for no limit
     * @param interruptible whether an interrupt ends the wait; if not, the flag is kept, and nothing is thrown
     * @return null if it was not free in time. If {@code holds}, it may be what the thread has held before, so the
     *     caller must not release it
     */
    abstract @Nullable Lease acquire(boolean holds, long maxWait, boolean interruptible) throws InterruptedException;

    /** Acquires a lease for a future. */
    abstract CompletableFuture<Lease> acquireAsync(long maxWait);

    /** What a caller who must have it gets when the time is over. */
    abstract LockTimeoutException timedOut(long begun);

    private @Nullable Lease acquireUninterruptibly(boolean holds, long maxWait) {
        try {
            return acquire(holds, maxWait, false);
        } catch (InterruptedException impossible) {
            throw new AssertionError("This wait is not interruptible", impossible);
        }
    }

    @Override
    public void lock() {
        acquireUninterruptibly(true, Nanos.NEVER);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        Preconditions.notInterrupted(spec);
        acquire(true, Nanos.NEVER, true);
    }

    @Override
    public boolean tryLock() {
        return acquireUninterruptibly(true, 0) != null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Preconditions.notInterrupted(spec);
        long maxWait = Math.max(0, unit.toNanos(time));
        return acquire(true, maxWait, maxWait != 0) != null;
    }

    @Override
    public Lease acquire() throws InterruptedException {
        return required(Nanos.NEVER);
    }

    @Override
    public Lease acquire(Duration maxWait) throws InterruptedException {
        return required(Preconditions.wait(maxWait));
    }

    @Override
    public Optional<Lease> tryAcquire(Duration maxWait) throws InterruptedException {
        return Optional.ofNullable(inTime(Preconditions.wait(maxWait)));
    }

    private @Nullable Lease inTime(long maxWait) throws InterruptedException {
        Preconditions.notInterrupted(spec);
        return acquire(false, maxWait, maxWait != 0);
    }

    private Lease required(long maxWait) throws InterruptedException {
        long begun = engine.now();
        Lease lease = inTime(maxWait);
        if (lease == null) {
            throw timedOut(begun);
        }
        return lease;
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return Optional.ofNullable(acquireUninterruptibly(false, 0));
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return acquireAsync(Nanos.NEVER);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration maxWait) {
        return acquireAsync(Preconditions.wait(maxWait));
    }
}
