package dev.holdfast.internal.lock;

import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.acquire.FutureWait;
import dev.holdfast.internal.acquire.ThreadWait;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A semaphore whose permits are held as leases. */
public final class LeaseSemaphore implements DistributedSemaphore {

    private final Engine engine;
    private final LockOptions options;
    private final LockSpec one;

    public LeaseSemaphore(Engine engine, String name, int limit, LockOptions options) {
        if (limit < 1 || limit > Claim.MAX_SEMAPHORE) {
            throw new IllegalArgumentException("A semaphore must have 1 to " + Claim.MAX_SEMAPHORE + " permits, but \""
                    + name + "\" has " + limit);
        }
        this.engine = engine;
        this.options = options;
        this.one = LockSpec.of(new LockName(name), 1, limit, options);
        Preconditions.options(engine, one);
    }

    @Override
    public String name() {
        return one.name().value();
    }

    @Override
    public int limit() {
        return one.limit();
    }

    @Override
    public Lease acquire(int permits) throws InterruptedException {
        return acquire(spec(permits), Nanos.NEVER);
    }

    @Override
    public Lease acquire(int permits, Duration maxWait) throws InterruptedException {
        return acquire(spec(permits), Preconditions.wait(maxWait));
    }

    private Lease acquire(LockSpec spec, long maxWait) throws InterruptedException {
        Preconditions.notInterrupted(spec);
        return ThreadWait.required(engine, spec, ThreadWait.acquire(engine, spec, false, maxWait, maxWait != 0));
    }

    @Override
    public Optional<Lease> tryAcquire(int permits) {
        return Optional.ofNullable(ThreadWait.acquire(engine, spec(permits), false, 0));
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(int permits) {
        return FutureWait.acquire(engine, spec(permits), Nanos.NEVER);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(int permits, Duration maxWait) {
        return FutureWait.acquire(engine, spec(permits), Preconditions.wait(maxWait));
    }

    @Override
    public Optional<ResourceState> state() {
        return engine.inspector().state(one.name(), one.storeTimeout());
    }

    private LockSpec spec(int permits) {
        return Preconditions.permits(one, permits) == 1 ? one : LockSpec.of(one.name(), permits, one.limit(), options);
    }

    @Override
    public String toString() {
        return "semaphore \"" + name() + "\" of " + limit();
    }
}
