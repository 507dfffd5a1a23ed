package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The claims that wait and were enqueued through this store object, with their listeners. The thread that removes a
 * claim from here notifies its listener. So a listener is notified once, although several may see a grant: the call
 * that made it, a renewal, and the poller.
 *
 * <p>Thread-safe. No listener is called under a lock.
 */
public final class WaiterRegistry {

    private final Map<ClaimId, Waiter> waiters = new ConcurrentHashMap<>();

    /** A claim that waits. */
    public static final class Waiter implements ListenerRegistration {

        private final Claim claim;
        private final ClaimListener listener;
        private final WaiterRegistry registry;
        /**
         * Until when the ticket is surely valid, on the store's clock: a claim that is gone earlier was released.
         */
        private volatile long goodUntil = Long.MIN_VALUE;

        private volatile boolean closed;
        /** The version of the row in which the claim was last seen waiting. */
        private volatile long seenVersion = -1;

        public Waiter(Claim claim, ClaimListener listener, WaiterRegistry registry) {
            this.claim = claim;
            this.listener = listener;
            this.registry = registry;
        }

        @Override
        public void close() {
            closed = true;
            registry.waiters.remove(claim.id(), this);
        }

        /** To be called after the ticket was taken or refreshed. */
        public void refreshed(long newGoodUntil) {
            goodUntil = newGoodUntil;
        }

        public boolean isClosed() {
            return closed;
        }

        private void notifyGranted(Granted granted) {
            if (!closed) {
                listener.granted(granted);
            }
        }

        private void notifyEnded(Renewed.Reason reason) {
            if (!closed) {
                listener.ended(reason);
            }
        }
    }

    boolean isEmpty() {
        return waiters.isEmpty();
    }

    public boolean contains(ClaimId id) {
        return waiters.containsKey(id);
    }

    /** Whether a claim with this id, given as text, waits here. */
    boolean contains(String id) {
        try {
            return contains(ClaimId.parse(id));
        } catch (IllegalArgumentException notOurs) {
            return false;
        }
    }

    /** Registers a claim that is about to be enqueued. */
    public void add(Waiter waiter) {
        waiters.put(waiter.claim.id(), waiter);
        if (waiter.closed) {
            waiters.remove(waiter.claim.id(), waiter);
        }
    }

    /**
     * Removes a claim that does not wait after all; false if another thread has, which then notifies its listener.
     */
    public boolean remove(Waiter waiter) {
        return waiters.remove(waiter.claim.id(), waiter);
    }

    /** To be called after a refresh of the ticket succeeded. */
    public void refreshed(ClaimId id, long goodUntil) {
        Waiter waiter = waiters.get(id);
        if (waiter != null) {
            waiter.refreshed(goodUntil);
        }
    }

    /** Notifies the listener of a granted claim; false if it has none here. */
    public boolean granted(ClaimId id, Granted granted) {
        Waiter waiter = waiters.remove(id);
        if (waiter == null) {
            return false;
        }
        waiter.notifyGranted(granted);
        return true;
    }

    /** Notifies the listeners of claims that were granted, and returns those that have none here. */
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
            waiter.notifyEnded(reason);
        }
    }

    /**
     * A claim as it was when the waiters were listed.
     *
     * @param goodUntil until when its ticket was valid then; long ago if it had perhaps not been taken yet. Rows
     *     that are read later may be compared with this value, and not with the one of a ticket that was taken
     *     meanwhile.
     */
    record Listed(Waiter waiter, long goodUntil) {}

    /** The claims that wait now, by name. */
    Map<LockName, List<Listed>> byName() {
        Map<LockName, List<Listed>> byName = new HashMap<>();
        for (Waiter waiter : waiters.values()) {
            byName.computeIfAbsent(waiter.claim.name(), name -> new ArrayList<>())
                    .add(new Listed(waiter, waiter.goodUntil));
        }
        return byName;
    }

    /**
     * Compares claims that were listed before some rows were read with those rows.
     *
     * @return whether a listener was notified
     */
    boolean compare(Collection<Listed> claims, Rows rows, Duration ticketTtl) {
        boolean notified = false;
        Map<LockName, Optional<ResourceRecord>> records = new HashMap<>();
        for (Listed listed : claims) {
            Waiter waiter = listed.waiter();
            LockName name = waiter.claim.name();
            LockRow row = rows.row(name);
            if (row.version() == waiter.seenVersion) {
                continue;
            }
            Optional<ResourceRecord> record = records.computeIfAbsent(name, unused -> readable(row, ticketTtl));
            if (record.isPresent()) {
                Place state = record.get().placeOf(waiter.claim.id());
                notified |= compare(listed, record.get(), state, rows.now());
            }
            waiter.seenVersion = row.version();
        }
        return notified;
    }

    // An unreadable row must not hide the others. The refresh of its tickets fails, and reports that to the
    // listeners.
    private static Optional<ResourceRecord> readable(LockRow row, Duration ticketTtl) {
        try {
            return Optional.of(row.toRecord(ticketTtl));
        } catch (StoreException unreadable) {
            return Optional.empty();
        }
    }

    private boolean compare(Listed listed, ResourceRecord record, @Nullable Place state, long now) {
        ClaimId id = listed.waiter().claim.id();
        if (state == null) {
            // If its ticket may have expired, the cause of its end is not known here: the next refresh reports it.
            boolean released = record.tombstones().containsKey(id) || now < listed.goodUntil();
            if (released) {
                ended(id, Renewed.Reason.RELEASED);
            }
            return released;
        }
        // A waiting claim has the counter 0. The lease is reported as it was at the moment of the grant.
        if (state.counter() == 0) {
            return false;
        }
        return granted(id, new Granted(state.counter(), RowCodec.duration(state.expires() - state.since())));
    }

    public void clear() {
        waiters.clear();
    }
}
