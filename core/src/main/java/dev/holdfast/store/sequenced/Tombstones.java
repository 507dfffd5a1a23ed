package dev.holdfast.store.sequenced;

import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * What was released and must not be acquired any more, each for some time. If there are too many, the oldest are dropped: that
 * was released longest ago, and only lost replies need tombstones. Thread-safe.
 *
 * @param <K> what identifies a released claim
 */
public final class Tombstones<K> {

    private final MonotonicClock clock;
    private final int most;
    private final Map<K, Long> ends = new LinkedHashMap<>();

    /** @param most how many are kept at most */
    public Tombstones(MonotonicClock clock, int most) {
        this.clock = clock;
        this.most = most;
    }

    /** Adds one, from now on. Returns those that are dropped for it. */
    public synchronized List<K> add(K key, Duration lasts) {
        ends.remove(key);
        ends.put(key, clock.nanoTime() + lasts.toNanos());
        List<K> dropped = new ArrayList<>(0);
        for (Iterator<K> oldest = ends.keySet().iterator(); ends.size() > most; oldest.remove()) {
            dropped.add(oldest.next());
        }
        return dropped;
    }

    /** Whether this one was added, its time is not over, and it was not dropped. */
    public synchronized boolean has(K key) {
        Long end = ends.get(key);
        return end != null && end - clock.nanoTime() > 0;
    }

    /** Those that were neither dropped nor removed. */
    public synchronized Set<K> all() {
        return Set.copyOf(ends.keySet());
    }

    /** Whether there are none that were neither dropped nor removed. */
    public synchronized boolean isEmpty() {
        return ends.isEmpty();
    }

    /**
     * Removes and returns those whose time is over.
     *
     * @param later receives the ends of the others; must not block
     */
    public synchronized List<K> removeOver(LongConsumer later) {
        long now = clock.nanoTime();
        List<K> over = new ArrayList<>(0);
        ends.forEach((key, end) -> {
            if (end - now <= 0) {
                over.add(key);
            } else {
                later.accept(end);
            }
        });
        over.forEach(ends::remove);
        return over;
    }
}
