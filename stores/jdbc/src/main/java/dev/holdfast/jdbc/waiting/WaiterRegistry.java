package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.row.RowHead;
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
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
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
    /** The same by name, so that to look at a name costs what waits for it, and not what waits at all. */
    private final Map<LockName, Set<Waiter>> byName = new ConcurrentHashMap<>();

    private final AtomicLong numbers = new AtomicLong();

    /** No row has this version. */
    private static final long UNSEEN = -1;

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
        private volatile long seenVersion = UNSEEN;
        /** The version of the row whose head was seen last. */
        private volatile long headVersion = UNSEEN;
        /** The order in which the claims of this registry were enqueued, more or less. */
        private volatile long number;

        public Waiter(Claim claim, ClaimListener listener, WaiterRegistry registry) {
            this.claim = claim;
            this.listener = listener;
            this.registry = registry;
        }

        @Override
        public void close() {
            closed = true;
            registry.remove(this);
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

    /** The claim with this id, given as text, that waits here; null if there is none. */
    @Nullable
    Claim claim(String id) {
        Waiter waiter = find(id);
        return waiter == null ? null : waiter.claim;
    }

    private @Nullable Waiter find(String id) {
        try {
            return waiters.get(ClaimId.parse(id));
        } catch (IllegalArgumentException notOurs) {
            return null;
        }
    }

    /** What belongs to the claims that wait here. */
    <T> Set<T> ofAll(Function<ClaimId, T> what) {
        return waiters.keySet().stream().map(what).collect(Collectors.toSet());
    }

    /** Registers a claim that is about to be enqueued. */
    public void add(Waiter waiter) {
        waiter.number = numbers.incrementAndGet();
        byName.compute(waiter.claim.name(), (name, present) -> {
            Set<Waiter> all = present == null ? ConcurrentHashMap.newKeySet() : present;
            all.add(waiter);
            return all;
        });
        waiters.put(waiter.claim.id(), waiter);
        if (waiter.closed) {
            remove(waiter);
        }
    }

    /**
     * Removes a claim that does not wait after all; false if another thread has, which then notifies its listener.
     */
    public boolean remove(Waiter waiter) {
        byName.computeIfPresent(waiter.claim.name(), (name, all) -> {
            all.remove(waiter);
            return all.isEmpty() ? null : all;
        });
        return waiters.remove(waiter.claim.id(), waiter);
    }

    private @Nullable Waiter take(ClaimId id) {
        Waiter waiter = waiters.get(id);
        return waiter != null && remove(waiter) ? waiter : null;
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
        Waiter waiter = take(id);
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

    /** Notifies the listener of a claim that is gone; false if it has none here. */
    public boolean ended(ClaimId id, Renewed.Reason reason) {
        Waiter waiter = take(id);
        if (waiter == null) {
            return false;
        }
        waiter.notifyEnded(reason);
        return true;
    }

    /**
     * A claim as it was when the waiters were listed.
     *
     * @param goodUntil until when its ticket was valid then; long ago if it had perhaps not been taken yet. Rows
     *     that are read later may be compared with this value, and not with the one of a ticket that was taken
     *     meanwhile.
     */
    record Listed(Waiter waiter, long goodUntil) {}

    /**
     * What was found for a name.
     *
     * @param turn the least number of releases that come before one of ours is granted; negative if none of ours waits
     * @param granted whether one of ours was found to be granted
     */
    record Seen(int turn, boolean granted) {

        /**
         * What was found by this look at the head and by one at the row after it. The turn stays what it was, since a head has it by estimate
         * only, and a change of it must mean that the queue has moved.
         */
        Seen andLater(Seen later) {
            return new Seen(later.turn < 0 ? later.turn : turn, granted || later.granted);
        }
    }

    /**
     * Reads the rows of some names, and notifies the listeners of claims that were granted or released. A row that is as it was
     * seen last is not fetched. One that was removed has no claims: that of a wait set is, some time after its last claim has left.
     *
     * @param beforeGrant is called with each claim that was granted, before its listener is notified
     * @return what was found, for names whose row was changed, or for which none of ours waits
     */
    Map<LockName, Seen> look(
            LockTable table, Collection<LockName> names, Duration ticketTtl, Consumer<ClaimId> beforeGrant)
            throws SQLException {
        // The waiters are listed before the rows are read, so that each is compared with rows that are not older
        // than it.
        Map<LockName, List<Listed>> listed = new HashMap<>();
        Map<LockName, Long> versions = new HashMap<>();
        Map<LockName, Seen> seen = new HashMap<>();
        for (LockName name : names) {
            List<Listed> ours = listed(name);
            if (ours.isEmpty()) {
                seen.put(name, new Seen(-1, false));
            } else {
                listed.put(name, ours);
                versions.put(name, commonVersion(ours, waiter -> waiter.seenVersion));
            }
        }
        if (!versions.isEmpty()) {
            Rows rows = table.readChanged(versions);
            if (rows.needConfirmation()) {
                confirm(table, rows, listed, ticketTtl);
            }
            rows.byName().forEach((name, row) -> {
                List<Listed> ours = listed.get(name);
                if (ours != null) {
                    seen.put(name, compare(ours, row, rows.now(), ticketTtl, beforeGrant));
                }
            });
        }
        return seen;
    }

    /**
     * Does the same by reading the heads of rows, if that is enough: no other claim can have been granted where one has all permits. What
     * may be missed is that somebody has released a claim, unless it is the one that was enqueued first. Where a head is not enough, the
     * row is read.
     */
    Map<LockName, Seen> lookAtHeads(
            LockTable table, Collection<LockName> names, Duration ticketTtl, Consumer<ClaimId> beforeGrant)
            throws SQLException {
        Map<LockName, List<Listed>> listed = new HashMap<>();
        Map<LockName, RowHead.Asked> asked = new HashMap<>();
        Map<LockName, Seen> seen = new HashMap<>();
        for (LockName name : names) {
            List<Listed> ours = listed(name);
            if (ours.isEmpty()) {
                seen.put(name, new Seen(-1, false));
            } else {
                listed.put(name, ours);
                long version = commonVersion(ours, waiter -> waiter.headVersion);
                asked.put(name, new RowHead.Asked(version, first(ours).claim.id()));
            }
        }
        if (asked.isEmpty()) {
            return seen;
        }
        List<LockName> rows = new ArrayList<>();
        table.changedHeads(asked).forEach((name, head) -> {
            List<Listed> ours = listed.getOrDefault(name, List.of());
            Seen found = head.isSole() ? compare(name, ours, head, beforeGrant) : null;
            if (found == null) {
                rows.add(name);
            } else {
                seen.put(name, found);
            }
        });
        seen.putAll(look(table, rows, ticketTtl, beforeGrant));
        return seen;
    }

    // Null if the head does not say enough.
    private @Nullable Seen compare(LockName name, List<Listed> ours, RowHead head, Consumer<ClaimId> beforeGrant) {
        Waiter holder = find(head.holder());
        boolean granted = false;
        if (holder != null && holder.claim.name().equals(name)) {
            beforeGrant.accept(holder.claim.id());
            Duration lease = RowCodec.duration(head.expires() - head.since());
            granted = granted(holder.claim.id(), new Granted(head.held(), lease));
        }
        if (!granted && head.place() < 0) {
            return null;
        }
        ours.forEach(listed -> listed.waiter().headVersion = head.version());
        return new Seen(Math.max(head.place(), 0), granted);
    }

    private static Waiter first(List<Listed> ours) {
        Waiter first = ours.get(0).waiter();
        for (Listed listed : ours) {
            if (listed.waiter().number < first.number) {
                first = listed.waiter();
            }
        }
        return first;
    }

    /**
     * Looks for claims that were said to be granted, one of each name. One that holds a name alone is found without reading the
     * queue behind it.
     *
     * @return the names of those that were not found to be granted in this way
     */
    Set<LockName> confirm(LockTable table, Map<LockName, ClaimId> said) throws SQLException {
        Set<LockName> others = new HashSet<>(said.keySet());
        if (!said.isEmpty()) {
            Map<ClaimId, Granted> granted = table.holders(said);
            said.forEach((name, id) -> {
                Granted grant = granted.get(id);
                if (grant != null) {
                    others.remove(name);
                    granted(id, grant);
                }
            });
        }
        return others;
    }

    private List<Listed> listed(LockName name) {
        List<Listed> listed = new ArrayList<>();
        for (Waiter waiter : byName.getOrDefault(name, Set.of())) {
            listed.add(new Listed(waiter, waiter.goodUntil));
        }
        return listed;
    }

    /** Has each row be fetched once more, although it may be as it was seen last. */
    void forgetVersions() {
        waiters.values().forEach(waiter -> {
            waiter.seenVersion = UNSEEN;
            waiter.headVersion = UNSEEN;
        });
    }

    private static long commonVersion(List<Listed> ours, ToLongFunction<Waiter> version) {
        long first = version.applyAsLong(ours.get(0).waiter());
        for (Listed one : ours) {
            if (version.applyAsLong(one.waiter()) != first) {
                return UNSEEN;
            }
        }
        return first;
    }

    private Seen compare(List<Listed> ours, LockRow row, long now, Duration ticketTtl, Consumer<ClaimId> beforeGrant) {
        Optional<ResourceRecord> record = readable(row, ticketTtl);
        int turn = 0;
        boolean granted = false;
        if (record.isPresent()) {
            Map<ClaimId, Integer> waiting = new HashMap<>();
            Turns turns = new Turns(record.get());
            record.get().waiters().forEach(place -> waiting.put(place.claim().id(), turns.next(place.claim())));
            turn = Integer.MAX_VALUE;
            for (Listed listed : ours) {
                ClaimId id = listed.waiter().claim.id();
                granted |= compare(listed, record.get(), now, beforeGrant);
                turn = Math.min(turn, waiting.getOrDefault(id, Integer.MAX_VALUE));
            }
        }
        ours.forEach(listed -> {
            listed.waiter().seenVersion = row.version();
            listed.waiter().headVersion = row.version();
        });
        // One that is not in the row yet was enqueued just now: its own call says where it is.
        return new Seen(turn == Integer.MAX_VALUE ? -1 : turn, granted);
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

    // The versions of those rows may grow by this, so they will be read once more.
    private static void confirm(LockTable table, Rows rows, Map<LockName, List<Listed>> listed, Duration ticketTtl)
            throws SQLException {
        List<LockName> granted = new ArrayList<>();
        rows.byName()
                .forEach((name, row) -> readable(row, ticketTtl).ifPresent(record -> {
                    if (listed.getOrDefault(name, List.of()).stream().anyMatch(ours -> isGranted(ours, record))) {
                        granted.add(name);
                    }
                }));
        if (!granted.isEmpty()) {
            table.confirmRead(granted);
        }
    }

    private static boolean isGranted(Listed ours, ResourceRecord record) {
        Place state = record.placeOf(ours.waiter().claim.id());
        return state != null && state.counter() != 0;
    }

    // Whether it was granted. A waiting claim has the counter 0.
    private boolean compare(Listed listed, ResourceRecord record, long now, Consumer<ClaimId> beforeGrant) {
        ClaimId id = listed.waiter().claim.id();
        Place state = record.placeOf(id);
        if (state == null) {
            // If its ticket may have expired, the cause of its end is not known here: the next refresh reports it.
            boolean released = record.tombstones().containsKey(id) || now < listed.goodUntil();
            if (released) {
                ended(id, Renewed.Reason.RELEASED);
            }
            return false;
        }
        // The lease is reported as it was at the moment of the grant.
        if (state.counter() == 0) {
            return false;
        }
        beforeGrant.accept(id);
        return granted(id, new Granted(state.counter(), RowCodec.duration(state.expires() - state.since())));
    }

    public void clear() {
        waiters.clear();
        byName.clear();
    }
}
