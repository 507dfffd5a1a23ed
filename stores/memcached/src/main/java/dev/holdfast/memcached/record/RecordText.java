package dev.holdfast.memcached.record;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.store.EscapedFields;
import dev.holdfast.store.ResourceRecord.Place;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The text of a record: lines of {@link EscapedFields}, which end with line feeds, so that a person with {@code nc} can read it.
 *
 * <pre>
 * holdfast1 NAME COUNTER
 * grant ID COUNTER SINCE EXPIRES PERMITS LIMIT LEASE FLAGS CLIENT HOST PID THREAD LABEL HELD...
 * tomb ID EXPIRES
 * </pre>
 *
 * Times are in microseconds of the server's clock, LEASE in microseconds; FLAGS is {@code r} for a repeated claim, else
 * {@code -}. COUNTER is {@code =} for the grant that was made together with this value: its counter is the value's own
 * number, which the server chooses when it stores the value.
 */
final class RecordText {

    /** The counter of a grant that is being made. It is larger than every counter that a server can give. */
    static final long NEW = Long.MAX_VALUE / 2048;

    private static final String MAGIC = "holdfast1";
    private static final String GRANT = "grant";
    private static final String TOMB = "tomb";
    private static final String OWN = "=";
    private static final char FIELD = EscapedFields.SEPARATOR;
    private static final char LINE = '\n';
    private static final int HELD = 14;

    private RecordText() {}

    static byte[] write(RecordContent content) {
        StringBuilder text = new StringBuilder(384);
        text.append(MAGIC);
        EscapedFields.append(text, content.name().value());
        appendCounter(text, content.counter());
        text.append(LINE);
        for (Place grant : content.grants()) {
            append(text, grant);
        }
        content.tombstones().forEach((id, expires) -> {
            text.append(TOMB)
                    .append(FIELD)
                    .append(id)
                    .append(FIELD)
                    .append(expires)
                    .append(LINE);
        });
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static void append(StringBuilder text, Place grant) {
        Claim claim = grant.claim();
        OwnerInfo owner = claim.owner();
        text.append(GRANT).append(FIELD).append(claim.id());
        appendCounter(text, grant.counter());
        text.append(FIELD).append(grant.since());
        text.append(FIELD).append(grant.expires());
        text.append(FIELD).append(claim.permits());
        text.append(FIELD).append(claim.limit());
        text.append(FIELD).append(micros(claim.lease()));
        text.append(FIELD).append(claim.repeated() ? 'r' : '-');
        EscapedFields.append(text, owner.client());
        EscapedFields.append(text, owner.host());
        text.append(FIELD).append(owner.pid());
        EscapedFields.append(text, owner.thread());
        EscapedFields.append(text, owner.label());
        owner.held().forEach(held -> EscapedFields.append(text, held));
        text.append(LINE);
    }

    private static void appendCounter(StringBuilder text, long counter) {
        text.append(FIELD);
        if (counter == NEW) {
            text.append(OWN);
        } else {
            text.append(counter);
        }
    }

    /**
     * Reads a text.
     *
     * @param own the number of the value
     * @throws IllegalArgumentException if it is not what {@link #write} wrote
     */
    static RecordContent read(byte[] value, long own) {
        String text = new String(value, StandardCharsets.UTF_8);
        // A number whose end was cut off is still a number: a tombstone would end at once.
        if (text.indexOf(LINE) >= 0 && text.charAt(text.length() - 1) != LINE) {
            throw new IllegalArgumentException("its last line has no end: it was cut off");
        }
        List<String> lines = text.lines().toList();
        List<String> first = lines.isEmpty() ? List.of() : EscapedFields.split(lines.get(0));
        if (first.size() != 3 || !first.get(0).equals(MAGIC)) {
            throw new IllegalArgumentException("it does not begin with " + MAGIC);
        }
        LockName name = new LockName(first.get(1));
        List<Place> grants = new ArrayList<>();
        Map<ClaimId, Long> tombstones = new LinkedHashMap<>();
        for (String line : lines.subList(1, lines.size())) {
            List<String> fields = EscapedFields.split(line);
            if (fields.get(0).equals(TOMB) && fields.size() == 3) {
                tombstones.put(ClaimId.parse(fields.get(1)), Long.parseLong(fields.get(2)));
            } else if (fields.get(0).equals(GRANT) && fields.size() >= HELD) {
                grants.add(grant(name, fields, own));
            } else {
                throw new IllegalArgumentException(
                        "a line begins with \"" + fields.get(0) + "\" and has " + fields.size() + " fields");
            }
        }
        // Such a value is removed and never written, so its lines were cut off, and who holds the lock is not known.
        if (grants.isEmpty() && tombstones.isEmpty()) {
            throw new IllegalArgumentException("it has only its first line: it was cut off");
        }
        return new RecordContent(name, counter(first.get(2), own), grants, tombstones);
    }

    private static Place grant(LockName name, List<String> fields, long own) {
        OwnerInfo owner = new OwnerInfo(
                fields.get(9),
                fields.get(10),
                Long.parseLong(fields.get(11)),
                fields.get(12),
                fields.get(13),
                fields.subList(HELD, fields.size()));
        Claim claim = new Claim(
                name,
                ClaimId.parse(fields.get(1)),
                Integer.parseInt(fields.get(5)),
                Integer.parseInt(fields.get(6)),
                Duration.ofNanos(Math.multiplyExact(Long.parseLong(fields.get(7)), 1_000L)),
                owner,
                fields.get(8).equals("r"));
        return new Place(
                claim, counter(fields.get(2), own), Long.parseLong(fields.get(3)), Long.parseLong(fields.get(4)));
    }

    private static long counter(String field, long own) {
        return field.equals(OWN) ? own : Long.parseLong(field);
    }

    // Rounds up, so that a lease never ends before its time.
    private static long micros(Duration duration) {
        return (duration.toNanos() + 999) / 1_000;
    }
}
