package dev.holdfast.redis.record;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
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
 * The waiting claims that were enqueued through this store object, and their listeners. Only the code that removes
 * a claim from here notifies its listener. So the listener is notified once, although a grant may be reported
 * several times: by the reply to the call, by a push, by a renewal, and by the release that made it.
 *
 * <p>A claim is registered before it is sent, because a push may overtake the reply. Thread-safe; listeners are not
 * called while a mutex is held.
 */
public final class WaiterRegistry {

    private final Map<ClaimId, Waiter> waiters = new ConcurrentHashMap<>();
    private final @Nullable GrantConfirmer confirmer;

    /** Confirms pushed grants, which do not count before that. */
    public interface GrantConfirmer {

        /**
         * Asks the server for the grant of a claim. The answer is reported by {@link #renewed}; until then the
         * claim waits.
         */
        void confirm(Claim claim, Duration lease);
    }

    /** @param confirmer confirms what other clients' calls have granted; null if their grants count at once */
    public WaiterRegistry(@Nullable GrantConfirmer confirmer) {
        this.confirmer = confirmer;
    }

    /** A claim that waits, or whose request to wait is under way. */
    public final class Waiter implements ListenerRegistration {

        private final Claim claim;
        private final ClaimListener listener;
        /**
         * Whether the server has confirmed that the claim waits. Before that, a refresh might overtake the request
         * itself.
         */
        private volatile boolean queued;

        private Waiter(Claim claim, ClaimListener listener) {
            this.claim = claim;
            this.listener = listener;
        }

        private boolean removeSelf() {
            return waiters.remove(claim.id(), this);
        }

        @Override
        public void close() {
            removeSelf();
        }

        /** Reports the answer to this waiter's own request. */
        public void answered(Renewed answer) {
            if (answer instanceof Renewed.Waiting state) {
                queued = true;
                // A grant that overtakes this call is reported all the same; the contract of the listener allows
                // this order.
                if (waiters.get(claim.id()) == this) {
                    listener.waiting(state.position(), state.retryAfter());
                }
            } else if (removeSelf()) {
                notifyListener(this, answer);
            }
        }

        public void failed(StoreException cause) {
            if (removeSelf()) {
                listener.failed(cause);
            }
        }
    }

    public Waiter add(Claim claim, ClaimListener listener) {
        Waiter waiter = new Waiter(claim, listener);
        waiters.put(claim.id(), waiter);
        return waiter;
    }

    /**
     * Notifies the listener of a granted claim. Returns false if the claim has no listener here; then the grant
     * counts, and the caller may pass it on.
     */
    public boolean granted(ClaimId id, Granted granted) {
        if (confirmer != null) {
            Waiter unconfirmed = waiters.get(id);
            if (unconfirmed != null) {
                confirmer.confirm(unconfirmed.claim, granted.lease());
            }
            return true;
        }
        Waiter waiter = waiters.remove(id);
        if (waiter == null) {
            return false;
        }
        waiter.listener.granted(granted);
        return true;
    }

    /** Notifies the listeners of granted claims, and returns the claims that have no listener here. */
    public List<Handed> grantedAll(List<Handed> handed) {
        return handed.isEmpty()
                ? handed
                : handed.stream()
                        .filter(one -> !granted(one.id(), one.granted()))
                        .toList();
    }

    public void ended(ClaimId id, Renewed.Reason reason) {
        Waiter waiter = waiters.remove(id);
        if (waiter != null) {
            waiter.listener.ended(reason);
        }
    }

    /** Reports the answer to a renewal. If the claim waited and is granted or gone now, its listener is notified. */
    public void renewed(ClaimId id, Renewed answer) {
        if (answer instanceof Granted || answer instanceof Renewed.Gone) {
            Waiter waiter = waiters.remove(id);
            if (waiter != null) {
                notifyListener(waiter, answer);
            }
        }
    }

    /** The names of the claims that wait, or are about to wait. */
    public Stream<LockName> names() {
        return waiters.values().stream().map(waiter -> waiter.claim.name());
    }

    /** The claims that have a position in the queue, as far as is known at this moment. */
    public List<Claim> queued() {
        return waiters.values().stream()
                .filter(waiter -> waiter.queued)
                .map(waiter -> waiter.claim)
                .toList();
    }

    public void clear() {
        waiters.clear();
    }

    private static void notifyListener(Waiter waiter, Renewed outcome) {
        if (outcome instanceof Granted held) {
            waiter.listener.granted(held);
        } else if (outcome instanceof Renewed.Gone gone) {
            waiter.listener.ended(gone.reason());
        }
    }
}
