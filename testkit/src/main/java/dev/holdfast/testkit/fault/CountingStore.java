package dev.holdfast.testkit.fault;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;

/** Counts the calls that reach a store, by verb, for tests of which operations cost a round trip. Thread-safe. */
public final class CountingStore extends ForwardingStore {

    private final Map<Verb, AtomicLong> counts = new EnumMap<>(Verb.class);

    public CountingStore(LockStore store) {
        super(store);
        for (Verb verb : Verb.values()) {
            counts.put(verb, new AtomicLong());
        }
    }

    /** How often a verb was called. */
    public long count(Verb verb) {
        return counter(verb).get();
    }

    /** How often each verb was called. Verbs that were never called are left out. */
    public Map<Verb, Long> counts() {
        Map<Verb, Long> copy = new EnumMap<>(Verb.class);
        for (Verb verb : Verb.values()) {
            if (count(verb) > 0) {
                copy.put(verb, count(verb));
            }
        }
        return copy;
    }

    /** How many calls there were in all. */
    public long total() {
        return counts().values().stream().mapToLong(Long::longValue).sum();
    }

    /** Sets all counts to zero. */
    public void reset() {
        counts.values().forEach(count -> count.set(0));
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        called(Verb.TRY_ACQUIRE);
        return super.tryAcquire(claim);
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        called(Verb.TRY_ACQUIRE);
        return super.tryAcquireAsNode(claim, counter, raise);
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        called(Verb.TRY_ACQUIRE_ALL);
        return super.tryAcquireAll(claims);
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        called(Verb.ENQUEUE);
        return super.enqueue(claim, listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        called(Verb.RENEW);
        return super.renew(claims);
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        called(Verb.RELEASE);
        return super.release(claim);
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        called(Verb.WATCH);
        return super.watch(name, mayBeFree);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        called(Verb.INSPECT);
        return super.inspect(name);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        called(Verb.LIST);
        return super.list(prefix, limit);
    }

    private void called(Verb verb) {
        counter(verb).incrementAndGet();
    }

    private AtomicLong counter(Verb verb) {
        return Objects.requireNonNull(counts.get(verb));
    }
}
