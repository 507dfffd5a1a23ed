package dev.holdfast.internal;

import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Acquisition.Owner;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A semaphore whose permits are held as leases. */
public final class LeaseSemaphore implements DistributedSemaphore {

    private final Engine engine;
    private final LockOptions options;
    private final Request one;

    public LeaseSemaphore(Engine engine, String name, int limit, LockOptions options) {
        if (limit < 1 || limit > Claim.MAX_SEMAPHORE) {
            throw new IllegalArgumentException("A semaphore must have 1 to " + Claim.MAX_SEMAPHORE + " permits, but \""
                    + name + "\" has " + limit);
        }
        this.engine = engine;
        this.options = options;
        this.one = Request.of(new LockName(name), 1, limit, options);
        Checks.options(engine, one);
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
        Request request = request(permits);
        Checks.notInterrupted(request);
        return lease(request, new Acquisition(engine, request, Owner.LEASE).await(Long.MAX_VALUE, true));
    }

    @Override
    public Lease acquire(int permits, Duration maxWait) throws InterruptedException {
        Request request = request(permits);
        long nanos = Checks.wait(maxWait);
        Checks.notInterrupted(request);
        Acquisition acquisition = new Acquisition(engine, request, Owner.LEASE);
        return lease(request, nanos == 0 ? acquisition.tryNow() : acquisition.await(nanos, true));
    }

    @Override
    public Optional<Lease> tryAcquire(int permits) {
        return Optional.ofNullable(new Acquisition(engine, request(permits), Owner.LEASE).tryNow())
                .map(hold -> new HoldLease(engine, hold));
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(int permits) {
        return FutureAcquisition.start(engine, request(permits), Long.MAX_VALUE);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(int permits, Duration maxWait) {
        return FutureAcquisition.start(engine, request(permits), Checks.wait(maxWait));
    }

    @Override
    public Optional<ResourceState> state() {
        return Inspection.state(engine, one.name(), one.storeTimeout());
    }

    private Request request(int permits) {
        return Checks.permits(one, permits) == 1 ? one : Request.of(one.name(), permits, one.limit(), options);
    }

    private Lease lease(Request request, @Nullable Hold hold) {
        if (hold == null) {
            throw FutureAcquisition.timedOut(engine, request);
        }
        return new HoldLease(engine, hold);
    }

    @Override
    public String toString() {
        return "semaphore \"" + name() + "\" of " + limit();
    }
}
