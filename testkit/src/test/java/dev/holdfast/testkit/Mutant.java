package dev.holdfast.testkit;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.law.StoreFixture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** Stores that each break one law, with a defect that has been seen in real systems or is easy to make. */
public enum Mutant {
    SECOND_HOLDER(1, SecondHolder::new),
    BUSY_WAITS(1, BusyWaits::new),
    REPEAT_GRANTS_ANEW(2, RepeatGrantsAnew::new),
    FOREIGN_RELEASE(3, ForeignRelease::new),
    REVIVED_CLAIM(3, RevivedClaim::new),
    LOST_TOMBSTONE(4, LostTombstone::new),
    PROMISED_TOO_LONG(5, PromisedTooLong::new),
    TOKEN_GOES_BACK(6, TokenGoesBack::new),
    BARGING(7, Barging::new),
    HERD(8, Herd::new),
    HINTS_AFTER_THE_CLOSE(8, HintsAfterTheClose::new),
    IMMORTAL_WAITERS(9, ImmortalWaiters::new),
    UNBOUNDED_LIST(10, UnboundedList::new),
    UNKNOWN_FOR_NONE(11, UnknownForNone::new),
    SWALLOWED_INTERRUPT(11, SwallowedInterrupt::new),
    LEASE_CUT_TO_SECONDS(12, LeaseCutToSeconds::new);

    private final int law;
    private final Function<LockStore, LockStore> wrapper;

    Mutant(int law, Function<LockStore, LockStore> wrapper) {
        this.law = law;
        this.wrapper = wrapper;
    }

    /** The number of the law that it breaks. */
    int law() {
        return law;
    }

    public LockStore of(LockStore lawful) {
        return wrapper.apply(lawful);
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }

    private static final class SecondHolder extends ForwardingStore {
        SecondHolder(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            return store().tryAcquire(claim)
                    .thenApply(attempt -> attempt instanceof Attempt.Busy && claim.permits() > 1
                            ? new Granted(1, claim.lease())
                            : attempt);
        }
    }

    private static final class BusyWaits extends ForwardingStore {
        BusyWaits(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            return store().tryAcquire(claim).thenApply(attempt -> {
                if (attempt instanceof Attempt.Busy) {
                    store().enqueue(claim, new RecordingListener());
                }
                return attempt;
            });
        }
    }

    private static final class RepeatGrantsAnew extends ForwardingStore {
        RepeatGrantsAnew(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            if (claim.repeated()) {
                store().release(new Claim(
                        claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), claim.owner()));
            }
            return store().tryAcquire(claim);
        }
    }

    /** Releases like {@code DEL key}, no matter who holds the lock. */
    private static final class ForeignRelease extends ForwardingStore {
        ForeignRelease(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            return store().release(claim).thenCompose(released -> {
                List<ResourceState.Entry> holders = StoreFixture.get(store().inspect(claim.name())).stream()
                        .flatMap(state -> state.holders().stream())
                        .toList();
                return released.wasOwner() || holders.isEmpty()
                        ? done(released)
                        : store().release(holders.get(0).claim());
            });
        }
    }

    private static final class RevivedClaim extends ForwardingStore {
        RevivedClaim(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
            List<Renewed> answers = new ArrayList<>(StoreFixture.get(store().renew(claims)));
            int i = 0;
            for (Claim claim : claims) {
                boolean gone = answers.get(i) instanceof Renewed.Gone lost && lost.reason() == Renewed.Reason.EXPIRED;
                if (gone
                        && !claim.isWaitSet()
                        && StoreFixture.get(store().tryAcquire(claim)) instanceof Granted grant) {
                    answers.set(i, grant);
                }
                i++;
            }
            return done(answers);
        }
    }

    private static final class LostTombstone extends ForwardingStore {
        LostTombstone(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            boolean known = StoreFixture.get(store().inspect(claim.name())).stream()
                    .flatMap(state -> List.of(state.holders(), state.waiters()).stream())
                    .flatMap(List::stream)
                    .anyMatch(entry -> entry.claim().id().equals(claim.id()));
            Claim once =
                    new Claim(claim.name(), claim.id(), claim.permits(), claim.limit(), claim.lease(), claim.owner());
            return known ? store().release(once) : done(Released.NOT_OWNER);
        }
    }

    /** Reports the lease that was requested, even if less is left. */
    private static final class PromisedTooLong extends ForwardingStore {
        PromisedTooLong(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            return store().tryAcquire(claim)
                    .thenApply(attempt ->
                            attempt instanceof Granted grant ? new Granted(grant.counter(), claim.lease()) : attempt);
        }
    }

    /** Starts the counter again after the record was cleaned up. */
    private static final class TokenGoesBack extends ForwardingStore {
        private long first;

        TokenGoesBack(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            return store().tryAcquire(claim).thenApply(attempt -> {
                if (attempt instanceof Granted grant) {
                    first = first == 0 ? grant.counter() : first;
                    return new Granted(1 + Math.abs(grant.counter() - first) % 3, grant.lease());
                }
                return attempt;
            });
        }
    }

    /** Grants any claim that fits, even if others wait. */
    private static final class Barging extends ForwardingStore {
        Barging(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            return store().tryAcquire(claim).thenApply(attempt -> {
                ResourceState state =
                        StoreFixture.get(store().inspect(claim.name())).orElse(null);
                if (attempt instanceof Attempt.Busy
                        && state != null
                        && !state.waiters().isEmpty()) {
                    int granted = state.holders().stream()
                            .mapToInt(entry -> entry.claim().permits())
                            .sum();
                    return claim.permits() <= state.limit() - granted
                            ? new Granted(state.counter() + 1, claim.lease())
                            : attempt;
                }
                return attempt;
            });
        }
    }

    /** Wakes all waiters at each release. */
    private static final class Herd extends ForwardingStore {
        private final List<Runnable> everybody = new CopyOnWriteArrayList<>();

        Herd(LockStore store) {
            super(store);
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            everybody.add(() -> listener.waiting(0, Duration.ZERO));
            return store().enqueue(claim, listener);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            return store().release(claim).whenComplete((released, failure) -> everybody.forEach(Runnable::run));
        }
    }

    /** Renews by itself every claim that was ever enqueued. */
    private static final class HintsAfterTheClose extends ForwardingStore {
        private final List<Runnable> watching = new CopyOnWriteArrayList<>();

        HintsAfterTheClose(LockStore store) {
            super(store);
        }

        @Override
        public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
            watching.add(mayBeFree);
            return () -> {};
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            CompletionStage<Released> released = super.release(claim);
            watching.forEach(Runnable::run);
            return released;
        }
    }

    private static final class ImmortalWaiters extends ForwardingStore {
        private final Set<Claim> known = ConcurrentHashMap.newKeySet();

        ImmortalWaiters(LockStore store) {
            super(store);
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            ListenerRegistration registration = store().enqueue(claim, listener);
            known.add(claim);
            return registration;
        }

        @Override
        public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
            store().renew(known);
            return store().renew(claims);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            known.removeIf(waiter -> waiter.id().equals(claim.id()));
            return store().release(claim);
        }
    }

    private static final class UnboundedList extends ForwardingStore {
        UnboundedList(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<List<LockName>> list(String prefix, int limit) {
            return store().list(prefix, LockStore.MAX_LIST);
        }
    }

    private static final class UnknownForNone extends ForwardingStore {
        UnknownForNone(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            return store().tryAcquire(claim).handle((attempt, failure) -> {
                if (failure != null) {
                    throw StoreException.unavailable(Effect.UNKNOWN, "something went wrong", failure);
                }
                return attempt;
            });
        }
    }

    private static final class SwallowedInterrupt extends ForwardingStore {
        SwallowedInterrupt(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            Thread.interrupted();
            return store().release(claim);
        }
    }

    /** Computes the lease as {@code millis / 1000}. */
    private static final class LeaseCutToSeconds extends ForwardingStore {
        LeaseCutToSeconds(LockStore store) {
            super(store);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            long seconds = Math.max(1, claim.lease().toSeconds());
            return store().tryAcquire(claim.withLease(Duration.ofSeconds(seconds)));
        }
    }
}
