package dev.holdfast.etcd.queue;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.sequenced.SequencedQueue;
import io.etcd.jetcd.api.KeyValue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one name in the order of their creation, or some of them.
 *
 * <p>A waiter in a long queue reads some of the queue that is before it, and not all of it. Such a part is judged as
 * if nothing else was before it, so it may show a claim as admitted that waits, and too small a position, but never the other
 * way round: what it shows is true for a claim that is {@link #isCertain certain}.
 */
public final class AdmissionQueue extends SequencedQueue<QueueEntry> {

    private final boolean isWhole;
    private final boolean isMixed;
    private volatile @Nullable Map<ClaimId, Integer> indexes;

    /** What a waiting claim has to watch: a key, or the whole queue if the key is null. */
    public record Blocker(@Nullable ByteString key) {}

    AdmissionQueue(List<QueueEntry> entries, boolean isWhole) {
        super(entries);
        this.isWhole = isWhole;
        this.isMixed = isMixed();
    }

    private boolean isMixed() {
        for (int i = 1; i < entries().size(); i++) {
            if (isOfAnotherKind(i)) {
                return true;
            }
        }
        return false;
    }

    static AdmissionQueue of(List<QueueEntry> entries) {
        return new AdmissionQueue(entries, true);
    }

    /** Reads the answers to a range over keys of the queue, in any order. */
    public static AdmissionQueue of(ByteString queue, List<KeyValue> pairs, boolean isWhole) {
        return new AdmissionQueue(read(queue, pairs), isWhole);
    }

    private static List<QueueEntry> read(ByteString queue, List<KeyValue> pairs) {
        List<QueueEntry> entries = new ArrayList<>(pairs.size() + 1);
        for (KeyValue pair : pairs) {
            QueueEntry entry = QueueEntry.of(queue, pair);
            if (entry != null) {
                entries.add(entry);
            }
        }
        // Keys of one transaction have the same revision, but are never in the same queue.
        entries.sort(Comparator.comparingLong(QueueEntry::created));
        return entries;
    }

    /** The claims that were read just before a new one was put, all or some of them, and the new one. */
    public static AdmissionQueue joined(ByteString queue, List<KeyValue> before, boolean isWhole, QueueEntry put) {
        List<QueueEntry> entries = read(queue, before);
        entries.add(put);
        return new AdmissionQueue(entries, isWhole);
    }

    public int indexOf(ClaimId id) {
        if (entries().size() == 1) {
            return get(0).id().equals(id) ? 0 : -1;
        }
        Map<ClaimId, Integer> known = indexes;
        if (known == null) {
            // Several threads may do this at the same time, with the same result.
            known = new HashMap<>(2 * entries().size());
            for (int i = 0; i < entries().size(); i++) {
                known.putIfAbsent(get(i).id(), i);
            }
            indexes = known;
        }
        return known.getOrDefault(id, -1);
    }

    /** Whether what this shows of the claim at {@code index} is the truth. */
    public boolean isCertain(int index) {
        return isWhole || (position(index) >= Renewed.Waiting.FAR && !isMixed);
    }

    /**
     * The entries that prove, as long as none of them is changed, that the waiting claim at {@code index} waits and has
     * its position; null if that is not known without reading the queue. Every claim of a mutex, and of a wait set,
     * counts the same, so the nearest ones are enough.
     */
    public @Nullable List<QueueEntry> proof(int index) {
        boolean countsAlike = get(index).limit() <= 1 && !isMixed;
        int from = index - Renewed.Waiting.FAR - 1;
        if (!countsAlike || isAdmitted(index) || (from < 0 && !isWhole)) {
            return null;
        }
        return entries().subList(Math.max(0, from), index + 1);
    }

    /** The queue without the claim of a key, or with another entry instead of it. */
    public AdmissionQueue changed(ByteString key, @Nullable QueueEntry to) {
        List<QueueEntry> changed = new ArrayList<>(entries().size());
        for (QueueEntry entry : entries()) {
            if (!entry.key().equals(key)) {
                changed.add(entry);
            } else if (to != null) {
                changed.add(to);
            }
        }
        return new AdmissionQueue(changed, isWhole);
    }

    @Nullable
    public QueueEntry entry(ByteString key) {
        for (QueueEntry entry : entries()) {
            if (entry.key().equals(key)) {
                return entry;
            }
        }
        return null;
    }

    /** What the waiting claim at {@code index} has to watch; null for a wait set. */
    @Nullable
    public Blocker blockerOf(int index) {
        int blocker = blocker(index);
        return blocker == NOTHING
                ? null
                : new Blocker(blocker == ALL_HOLDERS ? null : get(blocker).key());
    }
}
