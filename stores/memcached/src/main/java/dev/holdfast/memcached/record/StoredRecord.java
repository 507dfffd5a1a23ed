package dev.holdfast.memcached.record;

import dev.holdfast.memcached.client.ServerTime;
import dev.holdfast.memcached.client.Version;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One version of a name's record, at a time of the server's clock of which only bounds are known. Not thread-safe.
 *
 * <p>A grant is stamped by the latest time that the server's clock may show now, and is over when the server's clock has
 * said so much: no two clients' clocks are compared, and a lease is never cut short. In between it may be over; it
 * is taken as live, and the clock is read again ({@link #mayHaveEnded}).
 */
final class StoredRecord {

    /** Times to live that are longer than this, in seconds, are taken for dates by the server. */
    private static final long MOST_SECONDS = 30L * 24 * 60 * 60;

    /** The server's clock may be two seconds behind when it dates a value. See {@link ServerTime}. */
    private static final long BEHIND_SECONDS = 2;

    private final LockName name;
    private final ResourceRecord record;
    private final long now;
    private final long tick;

    /** When each grant and tombstone ends, as it is in the value that was read. */
    private final Map<ClaimId, Long> ends = new LinkedHashMap<>();

    private boolean mayHaveEnded;

    /** @param now the latest time that the server's clock may show */
    StoredRecord(RecordContent content, ServerTime time, long now) {
        this.name = content.name();
        this.now = now;
        this.tick = time.tick();
        List<Place> grants = new ArrayList<>();
        for (Place grant : content.grants()) {
            if (grant.expires() > tick) {
                grants.add(new Place(
                        grant.claim(),
                        grant.counter(),
                        grant.since(),
                        shown(grant.claim().id(), grant.expires())));
            }
        }
        Map<ClaimId, Long> tombstones = new LinkedHashMap<>();
        content.tombstones().forEach((id, expires) -> {
            if (expires > tick) {
                tombstones.put(id, shown(id, expires));
            }
        });
        int limit = grants.isEmpty() ? 0 : grants.get(0).claim().limit();
        this.record = new ResourceRecord(name, Duration.ZERO, limit, content.counter(), grants, List.of(), tombstones);
    }

    /** The name in a value; empty if there is none, because the value is not a record or is gone. */
    static Optional<LockName> nameIn(Version version) {
        byte[] value = version.value();
        try {
            return value == null
                    ? Optional.empty()
                    : Optional.of(RecordText.read(value, 0).name());
        } catch (RuntimeException notARecord) {
            return Optional.empty();
        }
    }

    /**
     * Reads a value.
     *
     * @throws StoreException if it is not a record of this name
     */
    static RecordContent read(LockName name, Version version, ServerTime time) {
        byte[] value = version.value();
        if (value == null) {
            return new RecordContent(name, 0, List.of(), Map.of());
        }
        RecordContent content;
        try {
            content = RecordText.read(value, time.started() + version.unique());
        } catch (RuntimeException wrong) {
            throw StoreException.refused(
                    "The value under the key of \"" + name + "\" is not a record of Holdfast: " + wrong.getMessage()
                            + ". Use another prefix, or remove it",
                    wrong);
        }
        if (!content.name().equals(name)) {
            throw StoreException.refused(
                    "The value under the key of \"" + name + "\" is the record of \"" + content.name() + "\"."
                            + " Use another prefix, or remove it",
                    null);
        }
        return content;
    }

    // Whatever may be over is shown as ending next, because it is live as long as the server has not said more.
    private long shown(ClaimId id, long expires) {
        ends.put(id, expires);
        mayHaveEnded |= expires <= now;
        return Math.max(expires, now + 1);
    }

    /** Whether a grant or tombstone may be over, which a new reading of the clock would show. */
    boolean mayHaveEnded() {
        return mayHaveEnded;
    }

    /** The record, for transitions at {@link #now}. A new grant has the counter {@link RecordText#NEW}. */
    ResourceRecord record() {
        return record;
    }

    long now() {
        return now;
    }

    /** What to store. */
    RecordContent content() {
        List<Place> grants = new ArrayList<>();
        for (Place grant : record.grants()) {
            long end = end(grant.claim().id(), grant.expires());
            grants.add(end == grant.expires() ? grant : new Place(grant.claim(), grant.counter(), grant.since(), end));
        }
        Map<ClaimId, Long> tombstones = record.tombstones();
        tombstones.replaceAll(this::end);
        return new RecordContent(name, record.counter(), grants, tombstones);
    }

    private long end(ClaimId id, long expires) {
        long before = ends.getOrDefault(id, expires);
        return expires == now + 1 ? before : expires;
    }

    /**
     * How long the server must keep the value, in seconds. What was stamped now lasts for its lease from now, and what
     * was there before until the clock says so, which was at least {@link ServerTime#tick}.
     *
     * @param content the value, of {@link #content}
     */
    int secondsToLive(RecordContent content) {
        long micros = 0;
        for (Place grant : content.grants()) {
            micros = Math.max(micros, left(grant.claim().id(), grant.expires()));
        }
        for (Map.Entry<ClaimId, Long> tombstone : content.tombstones().entrySet()) {
            micros = Math.max(micros, left(tombstone.getKey(), tombstone.getValue()));
        }
        long seconds = (micros + 999_999) / 1_000_000 + BEHIND_SECONDS;
        if (seconds > MOST_SECONDS) {
            throw StoreException.refused(
                    "The record of \"" + name + "\" ends in " + seconds + " seconds, which the server would take for a"
                            + " date: at most 30 days are possible",
                    null);
        }
        return (int) seconds;
    }

    private long left(ClaimId id, long expires) {
        Long before = ends.get(id);
        boolean stampedNow = before == null || expires != before;
        return stampedNow ? expires - now : expires - tick;
    }
}
