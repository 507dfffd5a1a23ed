package dev.holdfast.store.sequenced;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.testkit.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SequencedQueueTest {

    private static final int SEVERAL = 4;

    private record Entry(long number, int permits, int limit) implements SequencedEntry {

        @Override
        public ClaimId id() {
            return new ClaimId("a", number);
        }
    }

    private static final class Queue extends SequencedQueue<Entry> {

        private Queue(List<Entry> entries) {
            super(List.copyOf(entries));
        }
    }

    @Test
    void whoeverIsAdmittedWasWatchingWhatHasChanged() {
        long seed = Seeds.of("watched entries");
        Random random = new Random(seed);
        for (int run = 0; run < 400; run++) {
            Watchers watchers = new Watchers(random, new int[] {1, SEVERAL, Claim.ALL}[run % 3]);
            for (int step = 0; step < 40; step++) {
                watchers.change();
                watchers.settle();
                List<Entry> holders = watchers.entries.subList(0, new Queue(watchers.entries).admitted());
                assertThat(watchers.known)
                        .as("seed %d: %s", seed, watchers.entries)
                        .containsAll(holders.stream().map(Entry::number).toList());
            }
        }
    }

    @Test
    void whatIsWatched() {
        Queue readers = new Queue(List.of(write(1), read(2), read(3), write(4)));
        assertThat(List.of(readers.blocker(1), readers.blocker(2), readers.blocker(3)))
                .containsExactly(0, 0, 2);
        Queue permits = new Queue(List.of(permits(1, 2), permits(2, 1), permits(3, 2), permits(4, 1)));
        assertThat(List.of(permits.blocker(2), permits.blocker(3))).containsExactly(SequencedQueue.ALL_HOLDERS, 2);
        Queue one = new Queue(List.of(permits(1, 3), permits(2, 2)));
        assertThat(one.blocker(1)).as("the only holder").isZero();
        Queue all = new Queue(List.of(permits(1, 3), permits(2, SEVERAL), permits(3, 1)));
        assertThat(List.of(all.blocker(1), all.blocker(2))).containsExactly(0, 1);
        assertThat(new Queue(List.of(new Entry(1, 1, 0))).blocker(0)).isEqualTo(SequencedQueue.NOTHING);
    }

    private static Entry write(long number) {
        return new Entry(number, Claim.ALL, Claim.ALL);
    }

    private static Entry read(long number) {
        return new Entry(number, 1, Claim.ALL);
    }

    private static Entry permits(long number, int permits) {
        return new Entry(number, permits, SEVERAL);
    }

    /** Clients of one claim each, which look at the queue only when what they watch has changed. */
    private static final class Watchers {

        /** A waiter watches the whole queue, or one entry. */
        private record Watch(List<Entry> queue, Entry entry, boolean untilGranted) {}

        private final Random random;
        private final int limit;
        private final List<Entry> entries = new ArrayList<>();
        private final Map<Long, Watch> watches = new HashMap<>();
        private final Set<Long> known = new HashSet<>();
        /** Those that waited for permits, and have said that they hold. */
        private final Set<Long> marked = new HashSet<>();

        private long next = 1;

        private Watchers(Random random, int limit) {
            this.random = random;
            this.limit = limit;
        }

        private void change() {
            int dice = random.nextInt(8);
            if (dice < 4 || entries.isEmpty()) {
                boolean all = random.nextInt(3) == 0;
                int permits = all ? limit : 1 + random.nextInt(Math.min(limit, SEVERAL));
                entries.add(new Entry(next, limit == Claim.ALL && !all ? 1 : permits, limit));
                look(next++);
                return;
            }
            int at = random.nextInt(entries.size());
            Entry old = entries.get(at);
            if (dice < 7) {
                entries.remove(at);
                watches.remove(old.number());
            } else if (known.contains(old.number()) && old.permits() > 1) {
                entries.set(
                        at, new Entry(old.number(), 1 + random.nextInt(Math.min(SEVERAL, old.permits() - 1)), limit));
            }
        }

        private void settle() {
            List<Long> woken;
            do {
                woken = watches.keySet().stream()
                        .filter(number -> isOver(watches.get(number)))
                        .toList();
                if (!woken.isEmpty()) {
                    look(woken.get(random.nextInt(woken.size())));
                }
            } while (!woken.isEmpty());
        }

        private boolean isOver(Watch watch) {
            return watch.entry() == null
                    ? !entries.equals(watch.queue())
                    : !entries.contains(watch.entry())
                            || (watch.untilGranted()
                                    && marked.contains(watch.entry().number()));
        }

        private void look(long number) {
            boolean waited = watches.remove(number) != null;
            Queue queue = new Queue(entries);
            int index = entries.stream().map(Entry::number).toList().indexOf(number);
            Entry own = queue.get(index);
            if (queue.isAdmitted(index)) {
                known.add(number);
                if (waited && own.isForPermits()) {
                    marked.add(number);
                }
                return;
            }
            int blocker = queue.blocker(index);
            Entry entry = blocker == SequencedQueue.ALL_HOLDERS ? null : queue.get(blocker);
            boolean untilGranted =
                    entry != null && own.isForPermits() && !entry.isExclusive() && queue.position(index) > 0;
            watches.put(number, new Watch(List.copyOf(entries), entry, untilGranted));
        }
    }
}
