package dev.holdfast.etcd.queue;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.store.sequenced.SequencedEntry;
import io.etcd.jetcd.api.KeyValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One key of a queue: a claim that holds or waits.
 *
 * <p>The value is text in lines: {@code holdfast/1}, the claim's id, permits, limit, lease in milliseconds, the
 * time of writing in microseconds since 1970, and the owner. A key with another value was made by
 * {@code etcdctl lock} or another program, and counts as a mutex.
 *
 * @param created its create revision, which gives its position in the queue and is the number of the grant
 * @param modified the revision at which its value was written last
 * @param session the etcd lease that the key is attached to; 0 if it has none and never expires
 * @param since when the key was made, by its client's wall clock, only for display; 0 if not known
 */
public record QueueEntry(
        ByteString key,
        ClaimId id,
        int permits,
        int limit,
        Duration lease,
        OwnerInfo owner,
        long since,
        long created,
        long modified,
        long session)
        implements SequencedEntry {

    private static final String MARK = "holdfast/1";
    private static final int OWNER_AT = 6;
    private static final int HELD_AT = OWNER_AT + 5;

    /** The value of a claim's key. */
    public static ByteString value(Claim claim, long epochMicros) {
        OwnerInfo owner = claim.owner();
        StringBuilder text = new StringBuilder(128).append(MARK);
        text.append('\n').append(claim.id());
        text.append('\n').append(claim.permits());
        text.append('\n').append(claim.limit());
        text.append('\n').append(millis(claim.lease()));
        text.append('\n').append(epochMicros);
        text.append('\n').append(owner.client());
        text.append('\n').append(owner.host());
        text.append('\n').append(owner.pid());
        text.append('\n').append(owner.thread());
        text.append('\n').append(owner.label());
        for (String held : owner.held()) {
            text.append('\n').append(held.replace('\n', '?'));
        }
        return ByteString.copyFromUtf8(text.toString());
    }

    /** Reads a key of a queue; null if it belongs to a longer name of another program. */
    public static @Nullable QueueEntry of(ByteString queue, KeyValue pair) {
        if (LockKeys.isBelow(queue, pair.getKey())) {
            return null;
        }
        String value = pair.getValue().toStringUtf8();
        boolean ours = value.startsWith(MARK + '\n');
        if (ours) {
            try {
                return read(pair, value);
            } catch (IllegalArgumentException | IndexOutOfBoundsException broken) {
                // Another program made this key after all. It blocks later claims like any key of the queue.
                return foreign(queue, pair);
            }
        }
        return foreign(queue, pair);
    }

    private static QueueEntry read(KeyValue pair, String value) {
        List<String> lines = lines(value);
        ClaimId id = ClaimId.parse(lines.get(1));
        OwnerInfo owner = new OwnerInfo(
                lines.get(OWNER_AT),
                lines.get(OWNER_AT + 1),
                Long.parseLong(lines.get(OWNER_AT + 2)),
                lines.get(OWNER_AT + 3),
                lines.get(OWNER_AT + 4),
                lines.subList(HELD_AT, lines.size()));
        int permits = Integer.parseInt(lines.get(2));
        int limit = Integer.parseInt(lines.get(3));
        Duration lease = Claim.checkLease(Duration.ofMillis(Long.parseLong(lines.get(4))));
        // A holder of no permits at all would hold beside others.
        if (limit < 0 || limit > Claim.ALL || permits < 1 || permits > Math.max(1, limit)) {
            throw new IllegalArgumentException("no claim has " + permits + " permits of " + limit);
        }
        long since = Long.parseLong(lines.get(5));
        return new QueueEntry(
                pair.getKey(),
                id,
                permits,
                limit,
                lease,
                owner,
                since,
                pair.getCreateRevision(),
                pair.getModRevision(),
                pair.getLease());
    }

    private static QueueEntry foreign(ByteString queue, KeyValue pair) {
        ClaimId id = LockKeys.foreign(queue, pair.getKey());
        return new QueueEntry(
                pair.getKey(),
                id,
                1,
                1,
                Claim.MAX_LEASE,
                // The value is what a candidate of "etcdctl elect" proposes; "etcdctl lock" leaves it empty.
                new OwnerInfo(id.client(), "", 0, "", pair.getValue().toStringUtf8(), List.of()),
                0,
                pair.getCreateRevision(),
                pair.getModRevision(),
                pair.getLease());
    }

    /** The entry of a claim whose key was put at this revision. */
    public static QueueEntry put(ByteString key, Claim claim, long since, long revision, long session) {
        return new QueueEntry(
                key,
                claim.id(),
                claim.permits(),
                claim.limit(),
                claim.lease(),
                claim.owner(),
                since,
                revision,
                revision,
                session);
    }

    /** Whether a key that was read without its value is this entry, unchanged. */
    public boolean isStill(KeyValue read) {
        return read.getCreateRevision() == created && read.getModRevision() == modified;
    }

    /** A lease in whole milliseconds, rounded up. */
    static long millis(Duration lease) {
        return (lease.toNanos() + 999_999) / 1_000_000;
    }

    private static List<String> lines(String text) {
        List<String> lines = new ArrayList<>();
        int from = 0;
        for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
            lines.add(text.substring(from, end));
            from = end + 1;
        }
        lines.add(text.substring(from));
        return lines;
    }
}
