package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Runs the TCK on a store that serves exclusive locks only and has no queue but hints, so that the TCK skips some of its
 * tests.
 */
class MutexOnlyStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new ForwardingStore(new MemoryLockStore(clock)) {
            private final List<Runnable> watching = new CopyOnWriteArrayList<>();

            @Override
            public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
                watching.add(mayBeFree);
                return () -> watching.remove(mayBeFree);
            }

            @Override
            public CompletionStage<Released> release(Claim claim) {
                return super.release(claim).whenComplete((released, failure) -> watching.forEach(Runnable::run));
            }

            @Override
            public StoreTraits traits() {
                return ChangedTraits.of(super.traits())
                        .withoutQueue()
                        .oneNameAtATime()
                        .mutexesOnly()
                        .get();
            }

            @Override
            public CompletionStage<Attempt> tryAcquire(Claim claim) {
                return claim.limit() == 1
                        ? super.tryAcquire(claim)
                        : CompletableFuture.failedStage(
                                StoreException.refused("\"" + claim.name() + "\" can be a mutex only", null));
            }

            @Override
            public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
                throw new UnsupportedOperationException("one at a time");
            }

            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                throw new UnsupportedOperationException("no queue");
            }
        };
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.empty();
    }
}
