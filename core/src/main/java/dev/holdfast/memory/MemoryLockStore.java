package dev.holdfast.memory;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.ResourceRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * A store in memory, for one JVM: the executable model of the laws, against which every other store is run, and a test
 * double for users, with a clock of their choice. Several {@code Holdfast} instances may share one.
 *
 * <p>It promises all that the laws ask for as long as the object lives, and nothing after that.
 *
 * <p>Thread-safe. Every call is answered at once; listeners are told on the thread of the call that caused it, after the
 * store's own lock is free.
 */
public final class MemoryLockStore implements LockStore {

    /** How long a waiter keeps its place without a refresh. */
    public static final Duration TICKET_TTL = Duration.ofSeconds(5);

    private final StoreTraits traits;
    private final MonotonicClock clock;
    private final long origin;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<LockName, ResourceRecord> records = new HashMap<>();
    private final Map<ClaimId, ClaimListener> listeners = new HashMap<>();
    /** Names whose record may have nothing left but tombstones, with the time at which those are over; soonest first. */
    private final PriorityQueue<Buried> buried = new PriorityQueue<>(Comparator.comparingLong(Buried::until));

    private final Set<LockName> buriedNames = new HashSet<>();
    /** The largest counter of a record that was dropped: a new record of any name starts above it. */
    private long counterFloor;

    private boolean closed;

    private record Buried(LockName name, long until) {}

    /** A store on the system's clock. */
    public MemoryLockStore() {
        this(MonotonicClock.SYSTEM);
    }

    /** A store on a clock of the caller's. */
    public MemoryLockStore(MonotonicClock clock) {
        this(clock, TICKET_TTL);
    }

    /** A store on a clock of the caller's, whose waiters keep their places for so long without a refresh. */
    public MemoryLockStore(MonotonicClock clock, Duration ticketTtl) {
        this.traits = new StoreTraits(
                "memory",
                true,
                true,
                true,
                TokenSurvival.PROCESS,
                Liveness.LEASE,
                Duration.ofNanos(1_000),
                ticketTtl,
                Duration.ofSeconds(1));
        this.clock = clock;
        this.origin = clock.nanoTime();
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return call(told -> {
            ResourceRecord record = recordOf(claim.name());
            try {
                return record.tryAcquire(claim, now(), mintFloor());
            } finally {
                settled(record, told);
            }
        });
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        Bounds.several(claims);
        return call(told -> {
            List<Attempt> attempts = new ArrayList<>();
            List<Claim> taken = new ArrayList<>();
            try {
                for (Claim claim : claims) {
                    ResourceRecord record = recordOf(claim.name());
                    boolean isNew = record.placeOf(claim.id()) == null;
                    Attempt attempt = record.tryAcquire(claim, now(), mintFloor());
                    attempts.add(attempt);
                    if (attempt instanceof Attempt.Busy) {
                        undo(taken);
                        return List.of(attempt);
                    }
                    if (isNew) {
                        taken.add(claim);
                    }
                }
                return attempts;
            } catch (StoreException refused) {
                undo(taken);
                throw refused;
            } finally {
                claims.forEach(claim -> settled(recordOf(claim.name()), told));
            }
        });
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        CompletionStage<Renewed> place = call(told -> {
            ResourceRecord record = recordOf(claim.name());
            try {
                Renewed answer = record.enqueue(claim, now(), mintFloor());
                if (answer instanceof Renewed.Waiting) {
                    listeners.put(claim.id(), listener);
                }
                return answer;
            } finally {
                settled(record, told);
            }
        });
        place.whenComplete((answer, failure) -> {
            if (failure != null) {
                listener.failed((StoreException) failure);
            } else if (answer instanceof Renewed.Held held) {
                listener.granted(held.counter(), held.lease());
            } else if (answer instanceof Renewed.Waiting waiting) {
                listener.waiting(waiting.position(), waiting.retryAfter());
            } else if (answer instanceof Renewed.Gone gone) {
                listener.ended(gone.reason());
            }
        });
        return () -> forget(claim.id(), listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        return call(told -> {
            List<Renewed> answers = new ArrayList<>(batch.size());
            for (Claim claim : batch) {
                ResourceRecord record = recordOf(claim.name());
                Renewed answer = record.renew(claim, now(), mintFloor());
                answers.add(answer);
                settled(record, told);
                ClaimListener waiter = answer instanceof Renewed.Gone ? listeners.remove(claim.id()) : null;
                if (waiter != null) {
                    told.add(() -> waiter.ended(((Renewed.Gone) answer).reason()));
                }
            }
            return answers;
        });
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(told -> {
            ResourceRecord record = recordOf(claim.name());
            boolean found = record.release(claim, now(), mintFloor());
            ClaimListener waiter = listeners.remove(claim.id());
            if (waiter != null) {
                told.add(() -> waiter.ended(Renewed.Reason.RELEASED));
            }
            settled(record, told);
            return found ? Released.ALONE : Released.NOT_OWNER;
        });
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return call(told -> {
            ResourceRecord record = recordOf(name);
            Optional<ResourceState> state = record.inspect(now(), mintFloor());
            settled(record, told);
            return state.filter(ResourceState::isInUse);
        });
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return call(told -> {
            TreeMap<LockName, ResourceRecord> sorted = new TreeMap<>();
            for (ResourceRecord record : List.copyOf(records.values())) {
                record.settle(now(), mintFloor());
                if (!record.isFree() && record.name().value().startsWith(prefix)) {
                    sorted.put(record.name(), record);
                }
                settled(record, told);
            }
            return sorted.keySet().stream().limit(limit).toList();
        });
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
            listeners.clear();
        } finally {
            mutex.unlock();
        }
    }

    // Runs one transition under the lock, and tells listeners what it caused once the lock is free.
    private <T> CompletionStage<T> call(Function<List<Runnable>, T> transition) {
        List<Runnable> told = new ArrayList<>(0);
        CompletionStage<T> result;
        mutex.lock();
        try {
            if (closed) {
                throw StoreException.unavailable(Effect.NONE, "The memory store is closed", null);
            }
            digUp(told);
            result = CompletableFuture.completedStage(transition.apply(told));
        } catch (StoreException failure) {
            result = CompletableFuture.failedStage(failure);
        } finally {
            mutex.unlock();
        }
        told.forEach(Runnable::run);
        return result;
    }

    // Collects who must be told of a grant, and drops a record of which only the counter is left.
    private void settled(ResourceRecord record, List<Runnable> told) {
        for (Handed handed : record.takeHanded()) {
            ClaimListener waiter = listeners.remove(handed.id());
            if (waiter != null) {
                told.add(() -> waiter.granted(handed.counter(), handed.lease()));
            }
        }
        if (!record.isFree()) {
            return;
        }
        Map<ClaimId, Long> tombstones = record.tombstones();
        if (tombstones.isEmpty()) {
            counterFloor = Math.max(counterFloor, record.counter());
            records.remove(record.name());
        } else if (buriedNames.add(record.name())) {
            long until = tombstones.values().stream()
                    .mapToLong(Long::longValue)
                    .max()
                    .orElseThrow();
            buried.add(new Buried(record.name(), until));
        }
    }

    // Drops records that were kept for their tombstones, so that names used once do not pile up.
    private void digUp(List<Runnable> told) {
        Buried soonest = buried.peek();
        while (soonest != null && soonest.until() <= now()) {
            buried.remove();
            buriedNames.remove(soonest.name());
            ResourceRecord record = recordOf(soonest.name());
            record.settle(now(), mintFloor());
            settled(record, told);
            soonest = buried.peek();
        }
    }

    // Not marked as repeated: a refused attempt must leave no tombstone behind, or it could not be made again.
    private void undo(List<Claim> taken) {
        for (Claim claim : taken) {
            Claim once =
                    new Claim(claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), claim.owner());
            recordOf(claim.name()).release(once, now(), mintFloor());
        }
    }

    private void forget(ClaimId id, ClaimListener listener) {
        mutex.lock();
        try {
            listeners.remove(id, listener);
        } finally {
            mutex.unlock();
        }
    }

    private ResourceRecord recordOf(LockName name) {
        return records.computeIfAbsent(name, unused -> new ResourceRecord(name, traits.ticketTtl()));
    }

    // Counted from the store's birth, so that the sum of a time and a lease cannot overflow.
    private long now() {
        return (clock.nanoTime() - origin) / 1_000;
    }

    private long mintFloor() {
        return Math.max(clock.epochMicros(), counterFloor + 1);
    }

    @Override
    public String toString() {
        return "memory store";
    }
}
