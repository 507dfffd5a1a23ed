package dev.holdfast.jdbc.row;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.store.EscapedFields;
import dev.holdfast.store.ResourceRecord.Place;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes and reads the text columns of a row: lines of {@link EscapedFields}, which end with line feeds, so that a person with
 * a SQL prompt can read them.
 *
 * <pre>
 * owner     LEASE FLAGS CLIENT HOST PID THREAD LABEL HELD...
 * entry     grant ID COUNTER SINCE EXPIRES PERMITS LIMIT owner
 *         | wait  ID SINCE EXPIRES PERMITS LIMIT owner
 *         | tomb  ID EXPIRES
 * </pre>
 *
 * LEASE is in microseconds; FLAGS is {@code r} for a repeated claim, else {@code -}; CLIENT is {@code =} if it is the
 * client of the claim's id.
 */
public final class RowCodec {

    private static final char FIELD = EscapedFields.SEPARATOR;
    private static final String GRANT = "grant";
    static final String WAIT = "wait";
    private static final String TOMB = "tomb";
    static final char ENTRY = '\n';
    private static final String SAME = "=";
    private static final int OWNER_FIELDS = 7;

    private RowCodec() {}

    /** The entries in the text column {@code others}. */
    public record Entries(List<Place> grants, List<Place> waiters, Map<ClaimId, Long> tombstones) {

        static Entries none() {
            return new Entries(List.of(), List.of(), Map.of());
        }

        int size() {
            return grants.size() + waiters.size() + tombstones.size();
        }
    }

    public static String owner(Claim claim) {
        StringBuilder text = new StringBuilder(64);
        appendOwner(text, claim);
        return text.toString();
    }

    /** The claim whose owner column is given. */
    public static Claim claim(LockName name, ClaimId id, int permits, int limit, String owner) {
        return claim(name, id, permits, limit, EscapedFields.split(owner), 0);
    }

    /**
     * The beginning of the entry of a claim that waits. No other field can contain it, since a tab inside a field is escaped; two
     * fields of an owner may, one after the other, so that a poll may find a place which is not there, until it reads the queue.
     */
    static String waiting(ClaimId id) {
        return WAIT + FIELD + id + FIELD;
    }

    static String entries(Entries entries) {
        return entries(entries, new EntryCache());
    }

    /** The same, with a cache of entries. */
    static String entries(Entries entries, EntryCache cache) {
        StringBuilder text = cache.builder();
        entries.grants().forEach(grant -> append(text, grant, cache));
        entries.waiters().forEach(waiter -> append(text, waiter, cache));
        entries.tombstones().forEach((id, expires) -> {
            text.append(TOMB).append(FIELD).append(id);
            append(text, expires);
            text.append(ENTRY);
        });
        return text.toString();
    }

    /**
     * Reads the text of the entries.
     *
     * @throws IllegalArgumentException if the text is not what {@link #entries} wrote
     */
    public static Entries parse(LockName name, String text) {
        return parse(name, text, new EntryCache());
    }

    /** The same, with a cache of entries. */
    static Entries parse(LockName name, String text, EntryCache cache) {
        List<Place> grants = new ArrayList<>();
        List<Place> waiters = new ArrayList<>();
        Map<ClaimId, Long> tombstones = new LinkedHashMap<>();
        int start = 0;
        while (start < text.length()) {
            int end = text.indexOf(ENTRY, start);
            if (end < 0) {
                throw new IllegalArgumentException("the last entry has no end: it was cut off");
            }
            if (text.startsWith(TOMB, start)) {
                List<String> fields = EscapedFields.split(text.substring(start, end));
                tombstones.put(ClaimId.parse(field(fields, 1)), number(fields, 2));
            } else {
                Place entry = entry(name, text, start, end, cache);
                (entry.counter() != 0 ? grants : waiters).add(entry);
            }
            start = end + 1;
        }
        return new Entries(grants, waiters, tombstones);
    }

    private static Place entry(LockName name, String text, int start, int end, EntryCache cache) {
        Place before = cache.parsed(text, start, end);
        if (before != null && before.claim().name().equals(name)) {
            return before;
        }
        String line = text.substring(start, end);
        List<String> fields = EscapedFields.split(line);
        ClaimId id = ClaimId.parse(field(fields, 1));
        Place entry = switch (fields.get(0)) {
            case GRANT -> entry(name, id, number(fields, 2), fields, 3);
            case WAIT -> entry(name, id, 0, fields, 2);
            default -> throw new IllegalArgumentException("an entry begins with \"" + fields.get(0) + "\"");
        };
        cache.remember(line, entry);
        return entry;
    }

    private static void append(StringBuilder text, Place entry, EntryCache cache) {
        String before = cache.text(entry);
        if (before != null) {
            text.append(before).append(ENTRY);
            return;
        }
        int start = text.length();
        text.append(entry.counter() != 0 ? GRANT : WAIT)
                .append(FIELD)
                .append(entry.claim().id());
        if (entry.counter() != 0) {
            append(text, entry.counter());
        }
        appendEntry(text, entry);
        cache.remember(text.substring(start, text.length() - 1), entry);
    }

    private static void appendEntry(StringBuilder text, Place entry) {
        append(text, entry.since());
        append(text, entry.expires());
        append(text, entry.claim().permits());
        append(text, entry.claim().limit());
        text.append(FIELD);
        appendOwner(text, entry.claim());
        text.append(ENTRY);
    }

    private static void append(StringBuilder text, long number) {
        text.append(FIELD).append(number);
    }

    private static Place entry(LockName name, ClaimId id, long counter, List<String> fields, int from) {
        int permits = Math.toIntExact(number(fields, from + 2));
        int limit = Math.toIntExact(number(fields, from + 3));
        Claim claim = claim(name, id, permits, limit, fields, from + 4);
        return new Place(claim, counter, number(fields, from), number(fields, from + 1));
    }

    private static void appendOwner(StringBuilder text, Claim claim) {
        OwnerInfo owner = claim.owner();
        text.append(micros(claim.lease())).append(FIELD).append(claim.repeated() ? 'r' : '-');
        text.append(FIELD);
        if (owner.client().equals(claim.id().client())) {
            text.append(SAME);
        } else {
            EscapedFields.appendFirst(text, owner.client().startsWith(SAME) ? SAME + owner.client() : owner.client());
        }
        EscapedFields.append(text, owner.host());
        append(text, owner.pid());
        EscapedFields.append(text, owner.thread());
        EscapedFields.append(text, owner.label());
        owner.held().forEach(held -> EscapedFields.append(text, held));
    }

    private static Claim claim(LockName name, ClaimId id, int permits, int limit, List<String> fields, int from) {
        Duration lease = duration(number(fields, from));
        boolean repeated = field(fields, from + 1).equals("r");
        String client = field(fields, from + 2);
        if (client.startsWith(SAME)) {
            client = client.equals(SAME) ? id.client() : client.substring(SAME.length());
        }
        OwnerInfo owner = new OwnerInfo(
                client,
                field(fields, from + 3),
                number(fields, from + 4),
                field(fields, from + 5),
                field(fields, from + 6),
                fields.subList(from + OWNER_FIELDS, fields.size()));
        return new Claim(name, id, permits, limit, lease, owner, repeated);
    }

    private static long number(List<String> fields, int index) {
        return Long.parseLong(field(fields, index));
    }

    private static String field(List<String> fields, int index) {
        if (index >= fields.size()) {
            throw new IllegalArgumentException("an entry has " + fields.size() + " fields only: " + fields);
        }
        return fields.get(index);
    }

    /** A duration in microseconds, rounded up so that a lease is never shortened. */
    public static long micros(Duration duration) {
        return (duration.toNanos() + 999) / 1_000;
    }

    public static Duration duration(long micros) {
        return Duration.ofNanos(Math.multiplyExact(micros, 1_000L));
    }
}
