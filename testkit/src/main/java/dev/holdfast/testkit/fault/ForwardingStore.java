package dev.holdfast.testkit.fault;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreTraits;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** A store that forwards every call to another store. Subclasses override some of the calls. */
public abstract class ForwardingStore implements LockStore {

    private final LockStore store;

    protected ForwardingStore(LockStore store) {
        this.store = store;
    }

    /** The store to which the calls are forwarded. */
    protected final LockStore store() {
        return store;
    }

    @Override
    public StoreTraits traits() {
        return store.traits();
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return store.tryAcquire(claim);
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        return store.tryAcquireAsNode(claim, counter, raise);
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return store.tryAcquireAll(claims);
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        return store.enqueue(claim, listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return store.renew(claims);
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return store.release(claim);
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        return store.watch(name, mayBeFree);
    }

    @Override
    public ListenerRegistration watchLosses(LossListener listener) {
        return store.watchLosses(listener);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return store.inspect(name);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return store.list(prefix, limit);
    }

    @Override
    public void close() {
        store.close();
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + " over " + store;
    }
}
