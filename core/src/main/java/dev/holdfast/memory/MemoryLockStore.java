package dev.holdfast.memory;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.NodeRole;
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
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * A store in memory, for one JVM, and a test double for users, with a clock of their choice. Several {@code Holdfast}
 * instances may share one.
 *
 * <p>It obeys all laws as long as the object lives, and promises nothing after that.
 *
 * <p>Thread-safe. Every call is answered at once. Listeners are called on the thread of the call that caused the
 * event, after the store's own lock has been released.
 */
public final class MemoryLockStore implements LockStore {

    /** How long a waiter keeps its position in the queue without a refresh. */
    public static final Duration TICKET_TTL = Duration.ofSeconds(5);

    private static final AtomicLong MADE = new AtomicLong();

    private final String server = "memory " + MADE.incrementAndGet();
    private final StoreTraits traits;
    private final MonotonicClock clock;
    private final long origin;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<LockName, ResourceRecord> records = new HashMap<>();
    private final Map<ClaimId, ClaimListener> listeners = new HashMap<>();
    /**
     * Names whose records may contain only tombstones, each with the time at which the last of them ends; the
     * earliest is first.
     */
    private final PriorityQueue<TombstonesEnd> tombstoneEnds =
            new PriorityQueue<>(Comparator.comparingLong(TombstonesEnd::until));

    private final Set<LockName> namesWithTombstones = new HashSet<>();
    /** The largest counter of a record that was dropped. A new record of any name starts above it. */
    private long counterFloor;

    private boolean closed;

    private record TombstonesEnd(LockName name, long until) {}

    /** Creates a store that uses the system's clock. */
    public MemoryLockStore() {
        this(MonotonicClock.SYSTEM);
    }

    /** Creates a store that uses the caller's clock. */
    public MemoryLockStore(MonotonicClock clock) {
        this(clock, TICKET_TTL);
    }

    /**
     * Creates a store that uses the caller's clock, and whose waiters keep their positions in the queue for {@code
     * ticketTtl} without a refresh.
     */
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
                        Duration.ofSeconds(1))
                .withNode(NodeRole.DIRECT);
        this.clock = clock;
        this.origin = clock.nanoTime();
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return call(notifications -> {
            ResourceRecord record = recordOf(claim.name());
            try {
                return record.tryAcquire(claim, now(), mintFloor());
            } finally {
                settled(record, notifications);
            }
        });
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        return call(notifications -> {
            ResourceRecord record = recordOf(claim.name());
            try {
                long tolerance = NodeAttempt.CLOCK_TOLERANCE.toNanos() / 1_000;
                long wall = clock.epochMicros();
                long wanted = raise ? counter : Math.min(Math.max(counter, wall - tolerance), wall + tolerance);
                if (raise) {
                    record.raise(claim.id(), counter);
                }
                Attempt attempt = record.tryAcquire(claim, now(), Math.max(wanted, counterFloor + 1));
                return new NodeAttempt(attempt, origin, Duration.ofNanos(clock.nanoTime() - origin), server);
            } finally {
                settled(record, notifications);
            }
        });
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        Bounds.several(claims);
        return call(notifications -> {
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
                claims.forEach(claim -> settled(recordOf(claim.name()), notifications));
            }
        });
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        CompletionStage<Renewed> result = call(notifications -> {
            ResourceRecord record = recordOf(claim.name());
            try {
                Renewed answer = record.enqueue(claim, now(), mintFloor());
                if (answer instanceof Renewed.Waiting) {
                    listeners.put(claim.id(), listener);
                }
                return answer;
            } finally {
                settled(record, notifications);
            }
        });
        result.whenComplete((answer, failure) -> {
            if (failure != null) {
                listener.failed((StoreException) failure);
            } else if (answer instanceof Granted held) {
                listener.granted(held);
            } else if (answer instanceof Renewed.Waiting waiting) {
                listener.waiting(waiting.position(), waiting.retryAfter());
            } else if (answer instanceof Renewed.Gone gone) {
                listener.ended(gone.reason());
            }
        });
        return () -> removeListener(claim.id(), listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        return call(notifications -> {
            List<Renewed> answers = new ArrayList<>(batch.size());
            for (Claim claim : batch) {
                ResourceRecord record = recordOf(claim.name());
                Renewed answer = record.renew(claim, now(), mintFloor());
                answers.add(answer);
                settled(record, notifications);
                ClaimListener waiter = answer instanceof Renewed.Gone ? listeners.remove(claim.id()) : null;
                if (waiter != null) {
                    notifications.add(() -> waiter.ended(((Renewed.Gone) answer).reason()));
                }
            }
            return answers;
        });
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(notifications -> {
            ResourceRecord record = recordOf(claim.name());
            boolean found = record.release(claim, now(), mintFloor());
            ClaimListener waiter = listeners.remove(claim.id());
            if (waiter != null) {
                notifications.add(() -> waiter.ended(Renewed.Reason.RELEASED));
            }
            settled(record, notifications);
            return found ? Released.ALONE : Released.NOT_OWNER;
        });
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return call(notifications -> {
            ResourceRecord record = recordOf(name);
            Optional<ResourceState> state = record.inspect(now(), mintFloor());
            settled(record, notifications);
            return state.filter(ResourceState::isInUse);
        });
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return call(notifications -> {
            TreeMap<LockName, ResourceRecord> sorted = new TreeMap<>();
            for (ResourceRecord record : List.copyOf(records.values())) {
                record.settle(now(), mintFloor());
                if (!record.isFree() && record.name().value().startsWith(prefix)) {
                    sorted.put(record.name(), record);
                }
                settled(record, notifications);
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

    // Runs one transition under the lock, and notifies the listeners after the lock has been released.
    private <T> CompletionStage<T> call(Function<List<Runnable>, T> transition) {
        List<Runnable> notifications = new ArrayList<>(0);
        CompletionStage<T> result;
        mutex.lock();
        try {
            if (closed) {
                throw StoreException.unavailable(Effect.NONE, "The memory store is closed", null);
            }
            dropExpiredTombstones(notifications);
            result = CompletableFuture.completedStage(transition.apply(notifications));
        } catch (StoreException failure) {
            result = CompletableFuture.failedStage(failure);
        } finally {
            mutex.unlock();
        }
        notifications.forEach(Runnable::run);
        return result;
    }

    // Collects the notifications of new grants, and drops a record of which only the counter is left.
    private void settled(ResourceRecord record, List<Runnable> notifications) {
        for (Handed handed : record.takeHanded()) {
            ClaimListener waiter = listeners.remove(handed.id());
            if (waiter != null) {
                notifications.add(() -> waiter.granted(handed.granted()));
            }
        }
        if (!record.isFree()) {
            return;
        }
        Map<ClaimId, Long> tombstones = record.tombstones();
        if (tombstones.isEmpty()) {
            counterFloor = Math.max(counterFloor, record.counter());
            records.remove(record.name());
        } else if (namesWithTombstones.add(record.name())) {
            long until = tombstones.values().stream()
                    .mapToLong(Long::longValue)
                    .max()
                    .orElseThrow();
            tombstoneEnds.add(new TombstonesEnd(record.name(), until));
        }
    }

    // Drops records that were kept only for their tombstones, so that names used once do not accumulate.
    private void dropExpiredTombstones(List<Runnable> notifications) {
        TombstonesEnd soonest = tombstoneEnds.peek();
        while (soonest != null && soonest.until() <= now()) {
            tombstoneEnds.remove();
            namesWithTombstones.remove(soonest.name());
            ResourceRecord record = recordOf(soonest.name());
            record.settle(now(), mintFloor());
            settled(record, notifications);
            soonest = tombstoneEnds.peek();
        }
    }

    // The claim is not marked as repeated, because a refused attempt must leave no tombstone: it could not be made
    // again.
    private void undo(List<Claim> taken) {
        for (Claim claim : taken) {
            Claim once =
                    new Claim(claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), claim.owner());
            recordOf(claim.name()).release(once, now(), mintFloor());
        }
    }

    private void removeListener(ClaimId id, ClaimListener listener) {
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

    /** Whether it has a grant at this moment. Unlike a request, the question changes nothing. For tests. */
    boolean keeps(LockName name, long counter, int permits) {
        mutex.lock();
        try {
            ResourceRecord record = records.get(name);
            long now = now();
            return record != null
                    && record.grants().stream()
                            .anyMatch(grant -> grant.counter() == counter
                                    && grant.claim().permits() >= permits
                                    && grant.expires() > now);
        } finally {
            mutex.unlock();
        }
    }

    // The time is counted from the creation of the store, so that the sum of a time and a lease cannot overflow.
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
