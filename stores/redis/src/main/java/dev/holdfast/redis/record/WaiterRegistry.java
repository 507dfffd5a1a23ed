package dev.holdfast.redis.record;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The claims that wait and were enqueued through this store object, and who hears of them. Whoever removes a claim from
 * here tells its listener, so that it is told once, although a grant may be seen by several: by the answer to the call, by
 * a push, by a renewal, and by the release that made it.
 *
 * <p>A claim is in here before it is sent, because a push may overtake the answer. Thread-safe; nothing is told under a lock.
 */
public final class WaiterRegistry {

    private final Map<ClaimId, Waiter> waiters = new ConcurrentHashMap<>();
    private final @Nullable Doubt doubt;

    /** Where a pushed grant does not count before it is confirmed. */
    public interface Doubt {

        /** Asks for the grant of a claim. What the answer says is told by {@link #renewed}; until then the claim waits. */
        void confirm(Claim claim, Duration lease);
    }

    /** @param doubt is given what others' calls have granted; null to believe it */
    public WaiterRegistry(@Nullable Doubt doubt) {
        this.doubt = doubt;
    }

    /** A claim that waits, or is on its way to. */
    public final class Waiter implements ListenerRegistration {

        private final Claim claim;
        private final ClaimListener listener;
        /** Whether the server has answered that it waits: before that, a refresh might overtake the request itself. */
        private volatile boolean queued;

        private Waiter(Claim claim, ClaimListener listener) {
            this.claim = claim;
            this.listener = listener;
        }

        private boolean leaves() {
            return waiters.remove(claim.id(), this);
        }

        @Override
        public void close() {
            leaves();
        }

        /** The answer to this waiter's own request. */
        public void answered(Renewed answer) {
            if (answer instanceof Renewed.Waiting place) {
                queued = true;
                // A grant that overtakes this is told all the same; the contract of the listener allows for it.
                if (waiters.get(claim.id()) == this) {
                    listener.waiting(place.position(), place.retryAfter());
                }
            } else if (leaves()) {
                tell(this, answer);
            }
        }

        public void failed(StoreException cause) {
            if (leaves()) {
                listener.failed(cause);
            }
        }
    }

    public Waiter add(Claim claim, ClaimListener listener) {
        Waiter waiter = new Waiter(claim, listener);
        waiters.put(claim.id(), waiter);
        return waiter;
    }

    /** Tells the listener of a granted claim; false if it has none here, and whoever waits for it may believe in it. */
    public boolean granted(ClaimId id, long counter, Duration lease) {
        if (doubt != null) {
            Waiter doubted = waiters.get(id);
            if (doubted != null) {
                doubt.confirm(doubted.claim, lease);
            }
            return true;
        }
        Waiter waiter = waiters.remove(id);
        if (waiter == null) {
            return false;
        }
        waiter.listener.granted(counter, lease);
        return true;
    }

    /** Tells the listeners of claims that were granted, and returns those that have none here. */
    public List<Handed> grantedAll(List<Handed> handed) {
        return handed.isEmpty()
                ? handed
                : handed.stream()
                        .filter(one -> !granted(one.id(), one.counter(), one.lease()))
                        .toList();
    }

    public void ended(ClaimId id, Renewed.Reason reason) {
        Waiter waiter = waiters.remove(id);
        if (waiter != null) {
            waiter.listener.ended(reason);
        }
    }

    /** A renewal was answered; if the claim waited, its listener must hear what has become of it. */
    public void renewed(ClaimId id, Renewed answer) {
        if (answer instanceof Renewed.Held || answer instanceof Renewed.Gone) {
            Waiter waiter = waiters.remove(id);
            if (waiter != null) {
                tell(waiter, answer);
            }
        }
    }

    /** The names that claims wait for, or are about to. */
    public Stream<LockName> names() {
        return waiters.values().stream().map(waiter -> waiter.claim.name());
    }

    /** The claims that have a place in the queue, as far as is known at this moment. */
    public List<Claim> queued() {
        return waiters.values().stream()
                .filter(waiter -> waiter.queued)
                .map(waiter -> waiter.claim)
                .toList();
    }

    public void clear() {
        waiters.clear();
    }

    private static void tell(Waiter waiter, Renewed outcome) {
        if (outcome instanceof Renewed.Held held) {
            waiter.listener.granted(held.counter(), held.lease());
        } else if (outcome instanceof Renewed.Gone gone) {
            waiter.listener.ended(gone.reason());
        }
    }
}
