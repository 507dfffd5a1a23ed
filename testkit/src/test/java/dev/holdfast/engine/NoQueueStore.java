package dev.holdfast.engine;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.ChangedTraits;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;

/** A store without a queue, like Memcached. It gives hints of releases that are made through it. */
class NoQueueStore extends ForwardingStore {

    private final List<Runnable> watching = new CopyOnWriteArrayList<>();

    NoQueueStore(LockStore store) {
        super(store);
    }

    @Override
    public StoreTraits traits() {
        return ChangedTraits.of(super.traits())
                .withoutQueue()
                .withoutPush()
                .oneNameAtATime()
                .get();
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        throw new AssertionError("A store without a queue was asked to queue");
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        watching.add(mayBeFree);
        return () -> watching.remove(mayBeFree);
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        CompletionStage<Released> released = super.release(claim);
        watching.forEach(Runnable::run);
        return released;
    }

    /** How many listeners wait for hints. */
    int watchers() {
        return watching.size();
    }
}
