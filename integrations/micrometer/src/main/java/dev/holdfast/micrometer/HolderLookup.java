package dev.holdfast.micrometer;

import dev.holdfast.Holdfast;
import dev.holdfast.spi.ResourceState;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Finds out who holds the locks that are waited for, by asking the store when a wait has lasted for a while. It asks once for all
 * that wait for a name then, on a thread of its own and one name after the other. Thread-safe.
 */
final class HolderLookup {

    /** Of waits that are shorter it is not known who has held the lock. */
    static final String UNKNOWN = "unknown";

    /** The holder has no label. */
    static final String NO_LABEL = "none";

    static final long AFTER_MILLIS = 100;

    private final LockGroups labels;
    private final ScheduledThreadPoolExecutor looks;
    private final Map<String, Set<Wait>> waits = new ConcurrentHashMap<>();
    private volatile @Nullable Holdfast locks;

    /** An acquisition that has not ended. */
    static final class Wait {

        private final String name;
        private volatile @Nullable Future<?> look;
        private volatile @Nullable String heldBy;

        private Wait(String name) {
            this.name = name;
        }
    }

    HolderLookup(LockGroups labels) {
        this(labels, newLooks());
    }

    HolderLookup(LockGroups labels, ScheduledThreadPoolExecutor looks) {
        this.labels = labels;
        this.looks = looks;
    }

    /** One with the same groups of labels, since each asks the store of one client. */
    HolderLookup forAnotherClient() {
        return new HolderLookup(labels);
    }

    // The thread ends while nobody waits, as nobody closes this.
    private static ScheduledThreadPoolExecutor newLooks() {
        ScheduledThreadPoolExecutor looks = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "holdfast-holders");
            thread.setDaemon(true);
            return thread;
        });
        looks.setKeepAliveTime(10, TimeUnit.SECONDS);
        looks.allowCoreThreadTimeOut(true);
        looks.setRemoveOnCancelPolicy(true);
        return looks;
    }

    void bindTo(Holdfast client) {
        locks = client;
    }

    Wait begin(String name) {
        Wait wait = new Wait(name);
        waits.compute(name, (same, all) -> {
            Set<Wait> joined = all == null ? ConcurrentHashMap.newKeySet() : all;
            joined.add(wait);
            return joined;
        });
        wait.look = looks.schedule(() -> look(wait), AFTER_MILLIS, TimeUnit.MILLISECONDS);
        return wait;
    }

    /** Ends a wait. Returns the group of the holder's label. */
    String end(Wait wait) {
        Future<?> look = wait.look;
        if (look != null) {
            look.cancel(false);
        }
        waits.computeIfPresent(wait.name, (same, all) -> {
            all.remove(wait);
            return all.isEmpty() ? null : all;
        });
        String heldBy = wait.heldBy;
        return heldBy == null ? UNKNOWN : heldBy;
    }

    private void look(Wait first) {
        Holdfast client = locks;
        if (client == null || first.heldBy != null) {
            return;
        }
        List<Wait> all = List.copyOf(waits.getOrDefault(first.name, Set.of()));
        String heldBy = heldBy(client, first.name);
        for (Wait wait : all) {
            if (wait.heldBy == null) {
                wait.heldBy = heldBy;
            }
        }
    }

    private @Nullable String heldBy(Holdfast client, String name) {
        try {
            return client.state(name)
                    .map(ResourceState::holders)
                    .filter(holders -> !holders.isEmpty())
                    .map(holders -> holders.get(0).claim().owner().label())
                    .map(label -> label.isEmpty() ? NO_LABEL : labels.of(label))
                    .orElse(null);
        } catch (RuntimeException unavailable) {
            return null; // the wait itself meets the same failure, and reports it
        }
    }
}
