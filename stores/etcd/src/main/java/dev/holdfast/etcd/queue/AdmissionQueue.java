package dev.holdfast.etcd.queue;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Renewed;
import io.etcd.jetcd.api.KeyValue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The claims of one name in the order of their creation, and which of them hold. Admission is a pure function of
 * the keys, the same for every client that reads them.
 *
 * <p>A claim is admitted if all claims before it are, if it is of their kind, and if the permits of all of them fit
 * its limit. So the holders are the first claims of the queue. Later claims change nothing for earlier ones, and
 * earlier ones only leave or give up permits: <em>a claim that was admitted once stays admitted</em>. Hence a queue
 * that was read some time ago is wrong in one direction only. It may show a claim as waiting that holds by now,
 * never the other way round.
 *
 * <p>A claim of another kind is refused by its own client and removed again; until then it blocks later claims like
 * any other.
 *
 * <p>A waiter in a long queue reads some of the queue that is before it, and not all of it. Such a part is judged as
 * if nothing else was before it, so it may show a claim as admitted that waits, and too small a position, but never the other
 * way round: what it shows is true for a claim that is {@link #isCertain certain}.
 */
public final class AdmissionQueue {

    private final List<QueueEntry> entries;
    private final boolean isWhole;
    private final int admitted;
    private final boolean isMixed;
    private volatile @Nullable Map<ClaimId, Integer> indexes;

    /** What a waiting claim has to watch: a key, or the whole queue if the key is null. */
    public record Blocker(@Nullable ByteString key) {}

    AdmissionQueue(List<QueueEntry> entries, boolean isWhole) {
        this.entries = entries;
        this.isWhole = isWhole;
        int fits = 0;
        long granted = 0;
        for (QueueEntry entry : entries) {
            granted += entry.permits();
            if (entry.limit() != entries.get(0).limit() || granted > entry.limit()) {
                break;
            }
            fits++;
        }
        this.admitted = fits;
        this.isMixed = entries.stream()
                .anyMatch(entry -> entry.limit() != entries.get(0).limit());
    }

    static AdmissionQueue of(List<QueueEntry> entries) {
        return new AdmissionQueue(entries, true);
    }

    /** Reads the answers to a range over keys of the queue, in any order. */
    public static AdmissionQueue of(ByteString queue, List<KeyValue> pairs, boolean isWhole) {
        List<QueueEntry> entries = new ArrayList<>(pairs.size());
        for (KeyValue pair : pairs) {
            QueueEntry entry = QueueEntry.of(queue, pair);
            if (entry != null) {
                entries.add(entry);
            }
        }
        // Keys of one transaction have the same revision, but are never in the same queue.
        entries.sort(Comparator.comparingLong(QueueEntry::created));
        return new AdmissionQueue(entries, isWhole);
    }

    /** Some of the claims before the newest one, and that one. The keys may or may not have it. */
    public static AdmissionQueue some(ByteString queue, List<KeyValue> pairs, QueueEntry newest) {
        List<QueueEntry> entries = new ArrayList<>(of(queue, pairs, false).entries());
        entries.removeIf(entry -> entry.key().equals(newest.key()));
        entries.add(newest);
        return new AdmissionQueue(entries, false);
    }

    /** The claims, the oldest first. */
    public List<QueueEntry> entries() {
        return entries;
    }

    /** How many of them hold. */
    public int admitted() {
        return admitted;
    }

    public int indexOf(ClaimId id) {
        Map<ClaimId, Integer> known = indexes;
        if (known == null) {
            // Several threads may do this at the same time, with the same result.
            known = new HashMap<>(2 * entries.size());
            for (int i = 0; i < entries.size(); i++) {
                known.putIfAbsent(entries.get(i).id(), i);
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
        boolean countsAlike = entries.get(index).limit() <= 1 && !isMixed;
        int from = index - Renewed.Waiting.FAR - 1;
        if (!countsAlike || index < admitted || (from < 0 && !isWhole)) {
            return null;
        }
        return entries.subList(Math.max(0, from), index + 1);
    }

    public boolean isAdmitted(int index) {
        return index < admitted;
    }

    /** How many claims wait before the one at {@code index}. */
    public int position(int index) {
        return index - admitted;
    }

    /** The limit of the claims before the one at {@code index}; {@code own}, its own limit, if it is the first. */
    public int limitBefore(int index, int own) {
        return index == 0 ? own : entries.get(0).limit();
    }

    /** Whether a new claim would be admitted. */
    public boolean admits(int permits, int limit) {
        if (entries.isEmpty()) {
            return permits <= limit;
        }
        long granted = permits;
        for (QueueEntry entry : entries) {
            granted += entry.permits();
        }
        return admitted == entries.size() && entries.get(0).limit() == limit && granted <= limit;
    }

    /** The queue without the claim of a key, or with another entry instead of it. */
    public AdmissionQueue changed(ByteString key, @Nullable QueueEntry to) {
        List<QueueEntry> changed = new ArrayList<>(entries.size());
        for (QueueEntry entry : entries) {
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
        for (QueueEntry entry : entries) {
            if (entry.key().equals(key)) {
                return entry;
            }
        }
        return null;
    }

    /**
     * What the waiting claim at {@code index} has to watch; null for a wait set. An exclusive claim watches the
     * claim directly before it, which must leave first. Another claim watches the last claim before it that
     * excludes it, if it will be admitted together with all that wait between the two: readers behind a writer.
     * Otherwise permits are short. Then the first waiter watches all holders, and every other one watches the
     * waiter before it, whose client writes its key again when it is admitted. So permits that become free wake the
     * claims that get them, and one more.
     */
    @Nullable
    public Blocker blocker(int index) {
        QueueEntry own = entries.get(index);
        if (own.limit() == 0) {
            return null;
        }
        if (own.isExclusive()) {
            return new Blocker(entries.get(index - 1).key());
        }
        long together = own.permits();
        for (int i = index - 1; i >= 0; i--) {
            QueueEntry before = entries.get(i);
            if (before.isExclusive() || before.limit() != own.limit()) {
                return new Blocker(before.key());
            }
            together += before.permits();
            if (together > own.limit()) {
                break;
            }
        }
        if (index == admitted) {
            return new Blocker(index == 1 ? entries.get(0).key() : null);
        }
        return new Blocker(entries.get(index - 1).key());
    }
}
