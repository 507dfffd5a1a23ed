package dev.holdfast.internal.lock;

import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.LockSpec;
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
    private final LockSpec spec;
    private final ReentrantDistributedLock one;

    public LeaseSemaphore(Engine engine, String name, int limit, LockOptions options) {
        if (limit < 1 || limit > Claim.MAX_SEMAPHORE) {
            throw new IllegalArgumentException("A semaphore must have 1 to " + Claim.MAX_SEMAPHORE + " permits, but \""
                    + name + "\" has " + limit);
        }
        this.engine = engine;
        this.options = options;
        this.spec = LockSpec.ofSemaphore(new LockName(name), 1, limit, options);
        this.one = ReentrantDistributedLock.of(engine, spec);
    }

    private ReentrantDistributedLock permits(int permits) {
        return Preconditions.permits(spec, permits) == 1
                ? one
                : ReentrantDistributedLock.of(
                        engine, LockSpec.ofSemaphore(spec.name(), permits, spec.limit(), options));
    }

    @Override
    public String name() {
        return one.name();
    }

    @Override
    public int limit() {
        return spec.limit();
    }

    @Override
    public Lease acquire(int permits) throws InterruptedException {
        return permits(permits).acquire();
    }

    @Override
    public Lease acquire(int permits, Duration maxWait) throws InterruptedException {
        return permits(permits).acquire(maxWait);
    }

    @Override
    public Optional<Lease> tryAcquire(int permits) {
        return permits(permits).tryAcquire();
    }

    @Override
    public Optional<Lease> tryAcquire(int permits, Duration maxWait) throws InterruptedException {
        return permits(permits).tryAcquire(maxWait);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(int permits) {
        return permits(permits).acquireAsync();
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(int permits, Duration maxWait) {
        return permits(permits).acquireAsync(maxWait);
    }

    @Override
    public Optional<ResourceState> state() {
        return one.state();
    }

    @Override
    public int availablePermits() {
        ResourceState state = state().orElse(null);
        if (state == null) {
            return limit();
        }
        spec.requireLimit(state.limit());
        return limit()
                - state.holders().stream()
                        .mapToInt(holder -> holder.claim().permits())
                        .sum();
    }

    @Override
    public int queueLength() {
        return one.queueLength();
    }

    @Override
    public String toString() {
        return "semaphore \"" + name() + "\" of " + limit();
    }
}
