package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.row.RowCodec.Entries;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * One row of {@code holdfast_lock}: the whole state of one resource.
 *
 * <p>The oldest grant has columns of its own, because the one-statement paths must test and set it: {@code holder}
 * (the claim's id, or {@code -}), {@code held} (its counter), {@code permits}, {@code capacity} (the limit), {@code
 * since}, {@code expires} and {@code owner}. Everything else, which only exists while a client shares the lock,
 * waits, or has lost a reply, is text in {@code others}; {@code more} counts its entries. So {@code more = 0} means
 * that the one-statement paths for a holder alone can handle the row, and a row that is free or has a sole holder always has it.
 *
 * <p>{@code version} grows with every change and is never used twice, so that a row which was read can be written
 * back only if no other client changed it since. Absent text is {@code -} and not the empty string, which some
 * databases do not distinguish from NULL.
 *
 * @param counter the number of the newest grant
 */
public record LockRow(
        LockName name,
        long version,
        long counter,
        String holder,
        long held,
        int permits,
        int capacity,
        long since,
        long expires,
        String owner,
        int more,
        String others) {

    public static final String NONE = "-";

    /** The {@code expires} of a row without a holder. It is in the past at any time. */
    public static final long NEVER = Long.MIN_VALUE;

    /** A row with a counter and nothing else: it has no holder, or it was written on another clock. */
    static LockRow free(LockName name, long version, long counter) {
        return new LockRow(name, version, counter, NONE, 0, 0, 0, 0, NEVER, NONE, 0, NONE);
    }

    public static LockRow of(ResourceRecord record, long version) {
        return of(record, version, new EntryCache());
    }

    /** The same, with a cache of entries. */
    static LockRow of(ResourceRecord record, long version, EntryCache cache) {
        List<Place> grants = record.grants();
        List<Place> later = grants.isEmpty() ? grants : grants.subList(1, grants.size());
        Entries entries = new Entries(later, record.waiters(), record.tombstones());
        int more = entries.size();
        String others = more == 0 ? NONE : RowCodec.entries(entries, cache);
        if (more > 0) {
            cache.remember(record.name(), others, entries);
        }
        if (grants.isEmpty()) {
            return new LockRow(record.name(), version, record.counter(), NONE, 0, 0, 0, 0, NEVER, NONE, more, others);
        }
        Place first = grants.get(0);
        Claim claim = first.claim();
        return new LockRow(
                record.name(),
                version,
                record.counter(),
                claim.id().toString(),
                first.counter(),
                claim.permits(),
                claim.limit(),
                first.since(),
                first.expires(),
                RowCodec.owner(claim),
                more,
                others);
    }

    /**
     * The resource that the row describes.
     *
     * @throws StoreException if somebody else wrote into the row
     */
    public ResourceRecord toRecord(Duration ticketTtl) {
        return toRecord(ticketTtl, new EntryCache());
    }

    /** The same, with a cache of entries. */
    ResourceRecord toRecord(Duration ticketTtl, EntryCache cache) {
        try {
            Entries entries = entries(cache);
            if (entries.size() != more) {
                throw new IllegalArgumentException("it has " + entries.size() + " entries instead of " + more);
            }
            List<Place> grants = new ArrayList<>();
            if (!holder.equals(NONE)) {
                Claim claim = RowCodec.claim(name, ClaimId.parse(holder), permits, capacity, owner);
                grants.add(new Place(claim, held, since, expires));
            } else if (!entries.grants().isEmpty()) {
                throw new IllegalArgumentException("it has further holders, but no first one");
            }
            grants.addAll(entries.grants());
            int limit = limit(grants, entries.waiters());
            return new ResourceRecord(name, ticketTtl, limit, counter, grants, entries.waiters(), entries.tombstones());
        } catch (IllegalArgumentException | ArithmeticException unreadable) {
            throw StoreException.refused(
                    "The row of \"" + name + "\" in the table of the locks cannot be read: " + unreadable.getMessage()
                            + ". Somebody else wrote into it. When no process uses this lock, delete the row",
                    unreadable);
        }
    }

    boolean isSameVersion(LockRow other) {
        return version == other.version && name.equals(other.name);
    }

    private Entries entries(EntryCache cache) {
        if (more == 0) {
            return Entries.none();
        }
        Entries before = cache.entries(name, others);
        return before != null ? before : RowCodec.parse(name, others, cache);
    }

    /**
     * Whether a claim may hold or wait at a time. False is certain; true is certain only after the record was
     * settled.
     */
    public boolean mayBeInUse(long now) {
        return more > 0 || expires > now;
    }

    private static int limit(List<Place> grants, List<Place> waiters) {
        if (!grants.isEmpty()) {
            return grants.get(0).claim().limit();
        }
        return waiters.isEmpty() ? 0 : waiters.get(0).claim().limit();
    }
}
