package dev.holdfast.memcached;

import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.memcached.record.RecordContent;
import dev.holdfast.memcached.record.RecordUpdates;
import dev.holdfast.memcached.record.RecordUpdates.Start;
import dev.holdfast.memcached.record.Transition.Outcome;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A store in one Memcached server. {@link ResourceRecord} decides how the record of a name changes; the server gives what
 * a record cannot: one change at a time, numbers that grow, and one clock.
 *
 * <p>Thread-safe. Stages are completed by the thread of the connection.
 */
final class MemcachedLockStore implements LockStore {

    /** How many names are renewed or inspected at once. */
    private static final int AT_ONCE = 256;

    private static final Duration SECOND = Duration.ofSeconds(1);

    private final MemcachedUrl url;
    private final RecordUpdates updates;
    private final StoreTraits traits;
    /** For calls that are many operations. */
    private final TimeLimit limit;

    private MemcachedLockStore(MemcachedUrl url, MonotonicClock clock, Function<Duration, TimeLimit> limits) {
        this.url = url;
        this.updates = new RecordUpdates(url, clock);
        this.traits = new StoreTraits(
                "memcached",
                false,
                false,
                false,
                TokenSurvival.DATA_LOSS,
                Liveness.LEASE,
                SECOND,
                Duration.ZERO,
                url.options().timeout().multipliedBy(2).plus(SECOND));
        this.limit = limits.apply(traits.callTimeout());
    }

    /**
     * Opens a store.
     *
     * @param limits makes the time limit of calls about several names
     * @throws StoreException if the server cannot be reached, refuses the login or cannot compare and set
     */
    static MemcachedLockStore opened(MemcachedUrl url, MonotonicClock clock, Function<Duration, TimeLimit> limits) {
        MemcachedLockStore store = new MemcachedLockStore(url, clock, limits);
        try {
            store.updates.connect().toCompletableFuture().join();
            return store;
        } catch (CompletionException failure) {
            store.close();
            throw StoreException.of(failure);
        }
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return updates.run(
                claim.name(),
                Start.ASSUMED_FREE,
                (record, now, newCounter) -> {
                    Place before = record.placeOf(claim.id());
                    Attempt attempt = record.tryAcquire(claim, now, newCounter);
                    return new Outcome<>(attempt, !Objects.equals(record.placeOf(claim.id()), before));
                },
                (attempt, content) -> withCounter(attempt, claim, content));
    }

    // The server gives the counter of a new grant when it stores the record.
    private Attempt withCounter(Attempt attempt, Claim claim, RecordContent content) {
        if (!(attempt instanceof Granted granted)) {
            return attempt;
        }
        Place place = content.grantOf(claim.id());
        if (place == null && content.tombstones().containsKey(claim.id())) {
            return new Attempt.Busy(Duration.ZERO); // its release came between the grant and the reading of its counter
        }
        if (place == null) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN,
                    url + " granted \"" + claim.name() + "\" to " + claim.id()
                            + ", but the grant was gone at once: somebody released it, or the server lacks memory",
                    null);
        }
        return new Granted(place.counter(), granted.lease());
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        Map<LockName, List<Claim>> byName = new LinkedHashMap<>();
        batch.forEach(claim ->
                byName.computeIfAbsent(claim.name(), name -> new ArrayList<>()).add(claim));
        Map<Claim, Renewed> answers = new HashMap<>();
        return inTime(
                inTurns(List.copyOf(byName.values()), same -> renewTogether(same, answers)),
                () -> answersOrFailure(batch, answers));
    }

    // The claims of one name are renewed by one write. If that fails, the other names are not affected.
    private CompletionStage<Boolean> renewTogether(List<Claim> same, Map<Claim, Renewed> answers) {
        return updates.run(
                        same.get(0).name(),
                        Start.LAST_SEEN,
                        (record, now, newCounter) -> {
                            List<Renewed> renewed = same.stream()
                                    .map(claim -> record.renew(claim, now, newCounter))
                                    .toList();
                            return new Outcome<>(renewed, renewed.stream().anyMatch(Granted.class::isInstance));
                        },
                        (renewed, content) -> renewed)
                .handle((renewed, failure) -> {
                    synchronized (answers) {
                        for (int i = 0; i < same.size(); i++) {
                            answers.put(
                                    same.get(i),
                                    failure == null ? renewed.get(i) : new Renewed.Failed(StoreException.of(failure)));
                        }
                    }
                    return failure == null;
                });
    }

    // Names whose turn has not come in time, or is not over, may have been renewed or not.
    private List<Renewed> answersOrFailure(List<Claim> batch, Map<Claim, Renewed> answers) {
        Renewed late = new Renewed.Failed(late(Effect.UNKNOWN));
        synchronized (answers) {
            List<Renewed> all = batch.stream()
                    .map(claim -> answers.getOrDefault(claim, late))
                    .toList();
            if (!all.isEmpty() && all.stream().allMatch(Renewed.Failed.class::isInstance)) {
                throw ((Renewed.Failed) all.get(0)).cause();
            }
            return all;
        }
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return updates.run(
                claim.name(),
                Start.LAST_SEEN,
                (record, now, newCounter) -> new Outcome<>(record.release(claim, now, newCounter), true),
                (found, content) -> found ? Released.ALONE : Released.NOT_OWNER);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return updates.run(
                name,
                Start.READ,
                (record, now, newCounter) -> new Outcome<>(record.inspect(now, newCounter), false),
                (state, content) -> state.filter(ResourceState::isInUse).map(MemcachedLockStore::withoutNegativeTimes));
    }

    // What another client has stamped by the latest possible time may seem to be younger than nothing.
    private static ResourceState withoutNegativeTimes(ResourceState state) {
        List<ResourceState.Entry> holders = state.holders().stream()
                .map(entry -> entry.age().isNegative()
                        ? new ResourceState.Entry(entry.claim(), entry.counter(), Duration.ZERO, entry.remaining())
                        : entry)
                .toList();
        return new ResourceState(state.name(), state.limit(), state.counter(), holders, List.of());
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        List<LockName> inUse = new ArrayList<>();
        CompletableFuture<Boolean> all = updates.namesThatBeginWith(prefix)
                .thenCompose(names -> inTurns(names, name -> addIfInUse(name, inUse)))
                .toCompletableFuture();
        return inTime(all, () -> {
            if (!all.isDone()) {
                throw late(Effect.NONE);
            }
            synchronized (inUse) {
                return inUse.stream().sorted().limit(limit).toList();
            }
        });
    }

    private CompletionStage<Boolean> addIfInUse(LockName name, List<LockName> inUse) {
        return inspect(name).thenApply(state -> {
            synchronized (inUse) {
                return state.isPresent() && inUse.add(name);
            }
        });
    }

    /** Makes the result when all is done, or when the time limit of the call is over. */
    private <R> CompletionStage<R> inTime(CompletionStage<Boolean> all, Supplier<R> result) {
        CompletableFuture<Boolean> ended = new CompletableFuture<>();
        TimeLimit.Call call = limit.begin(() -> ended.complete(false));
        all.whenComplete((done, failure) -> {
            call.end();
            if (failure == null) {
                ended.complete(true);
            } else {
                ended.completeExceptionally(failure);
            }
        });
        return ended.thenApply(inTime -> result.get());
    }

    private StoreException late(Effect effect) {
        return StoreException.unavailable(
                effect,
                url + " did not answer about all names within "
                        + traits.callTimeout().toMillis() + " ms. Is the server overloaded or frozen?",
                null);
    }

    /** Runs one operation for each element, not too many at once. */
    private static <E> CompletionStage<Boolean> inTurns(List<E> elements, Operation<E> operation) {
        CompletionStage<Boolean> last = CompletableFuture.completedStage(true);
        for (int start = 0; start < elements.size(); start += AT_ONCE) {
            List<E> turn = elements.subList(start, Math.min(elements.size(), start + AT_ONCE));
            last = last.thenCompose(before -> {
                CompletionStage<Boolean> all = CompletableFuture.completedStage(true);
                for (CompletionStage<Boolean> each :
                        turn.stream().map(operation::run).toList()) {
                    all = all.thenCombine(each, (one, other) -> true);
                }
                return all;
            });
        }
        return last;
    }

    @FunctionalInterface
    private interface Operation<E> {
        CompletionStage<Boolean> run(E element);
    }

    @Override
    public void close() {
        updates.close();
    }

    @Override
    public String toString() {
        return "memcached store " + url;
    }
}
