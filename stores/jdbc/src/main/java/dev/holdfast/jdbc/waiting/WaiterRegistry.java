package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
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
 * The claims that wait and were enqueued through this store object, and who hears of them. Whoever removes a claim from
 * here tells its listener, so that it is told once, although a grant may be seen by several: by the call that made it, by
 * a renewal, and by the poller.
 *
 * <p>Thread-safe. Nothing is told under a lock.
 */
public final class WaiterRegistry {

    private final Map<ClaimId, Waiter> waiters = new ConcurrentHashMap<>();

    /** A claim that waits. */
    public static final class Waiter implements ListenerRegistration {

        private final Claim claim;
        private final ClaimListener listener;
        private final WaiterRegistry all;
        /** Until when the ticket is surely good, on the store's clock: a claim that is gone earlier was released. */
        private volatile long goodUntil = Long.MIN_VALUE;

        private volatile boolean closed;
        /** The version of the row in which the claim was last seen waiting. */
        private volatile long seenVersion = -1;

        public Waiter(Claim claim, ClaimListener listener, WaiterRegistry all) {
            this.claim = claim;
            this.listener = listener;
            this.all = all;
        }

        @Override
        public void close() {
            closed = true;
            all.waiters.remove(claim.id(), this);
        }

        /** The ticket was taken or refreshed. */
        public void refreshed(long newGoodUntil) {
            goodUntil = newGoodUntil;
        }

        public boolean isClosed() {
            return closed;
        }

        private void tellGranted(long counter, Duration lease) {
            if (!closed) {
                listener.granted(counter, lease);
            }
        }

        private void tellEnded(Renewed.Reason reason) {
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

    /** Whether a claim of this id, as text, waits here. */
    boolean contains(String id) {
        try {
            return contains(ClaimId.parse(id));
        } catch (IllegalArgumentException notOurs) {
            return false;
        }
    }

    /** Lists a claim that is about to be enqueued. */
    public void add(Waiter waiter) {
        waiters.put(waiter.claim.id(), waiter);
        if (waiter.closed) {
            waiters.remove(waiter.claim.id(), waiter);
        }
    }

    /** Takes a claim out that does not wait after all; false if somebody else has, and has told its listener. */
    public boolean remove(Waiter waiter) {
        return waiters.remove(waiter.claim.id(), waiter);
    }

    /** A refresh of the ticket succeeded. */
    public void refreshed(ClaimId id, long goodUntil) {
        Waiter waiter = waiters.get(id);
        if (waiter != null) {
            waiter.refreshed(goodUntil);
        }
    }

    /** Tells the listener of a granted claim; false if it has none here. */
    public boolean granted(ClaimId id, long counter, Duration lease) {
        Waiter waiter = waiters.remove(id);
        if (waiter == null) {
            return false;
        }
        waiter.tellGranted(counter, lease);
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
            waiter.tellEnded(reason);
        }
    }

    /**
     * A claim that is listed at a moment.
     *
     * @param goodUntil until when its ticket was good then; long ago if it had perhaps not been taken yet. What rows say that
     *     are read later may be held against this, and not against a ticket that was taken meanwhile.
     */
    record Listed(Waiter waiter, long goodUntil) {}

    /** The claims of this moment, by name. */
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
     * @return whether anybody was told
     */
    boolean compare(Collection<Listed> claims, Rows rows, Duration ticketTtl) {
        boolean told = false;
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
                Place place = record.get().placeOf(waiter.claim.id());
                told |= compare(listed, record.get(), place, rows.now());
            }
            waiter.seenVersion = row.version();
        }
        return told;
    }

    // An unreadable row must not hide the others. Refreshing the tickets on it fails, and there somebody listens.
    private static Optional<ResourceRecord> readable(LockRow row, Duration ticketTtl) {
        try {
            return Optional.of(row.toRecord(ticketTtl));
        } catch (StoreException unreadable) {
            return Optional.empty();
        }
    }

    private boolean compare(Listed listed, ResourceRecord record, @Nullable Place place, long now) {
        ClaimId id = listed.waiter().claim.id();
        if (place == null) {
            // If its time may have been over, nobody knows who ended it, and the next refresh of the ticket tells.
            boolean released = record.tombstones().containsKey(id) || now < listed.goodUntil();
            if (released) {
                ended(id, Renewed.Reason.RELEASED);
            }
            return released;
        }
        // A waiting claim has no counter. The lease is told as it was counted from the moment of the grant.
        return place.counter() != 0 && granted(id, place.counter(), RowCodec.duration(place.expires() - place.since()));
    }

    public void clear() {
        waiters.clear();
    }
}
