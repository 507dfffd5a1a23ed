package dev.holdfast.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads that enter and leave sections as fast as they can, until a given moment. The order says how many ({@code
 * threads}), over how many clients, which names ({@code own}: one each; {@code one}: the same for all; {@code zipf}: drawn
 * from 10,000 by Zipf's law with exponent 1), whether they read or write ({@code mixed}), and whether each holds its lock
 * all the time and enters again ({@code reentrant}).
 */
final class Loop {

    /** Re-entries are timed in batches of so many, since reading the clock costs as much as a local re-entry. */
    private static final int BATCH = 32;

    private static final double WRITERS = 0.05;

    private final List<Subject> clients;
    private final Executor threads;
    private final Guard guard;
    private final Fields order;
    private final long startAt;
    private final long deadline;
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    /** @param threads runs each walker in a thread of its own */
    Loop(List<Subject> clients, Executor threads, Guard guard, Fields order) {
        this.clients = clients;
        this.threads = threads;
        this.guard = guard;
        this.order = order;
        this.startAt = order.whole("startAt");
        this.deadline = startAt + order.whole("nanos");
    }

    /** Runs it and returns the figures. */
    Fields run() throws InterruptedException {
        List<Walker> walkers = new ArrayList<>();
        for (int i = 0; i < order.whole("threads"); i++) {
            walkers.add(new Walker(clients.get(i % clients.size()), (int) order.whole("first") + i));
        }
        CountDownLatch ended = new CountDownLatch(walkers.size());
        for (Walker walker : walkers) {
            threads.execute(() -> {
                walker.run();
                ended.countDown();
            });
        }
        parkUntil(startAt);
        ProcessCost cost = new ProcessCost();
        parkUntil(deadline);
        Fields figures = cost.since();
        ended.await();
        return figures.with(sum(walkers));
    }

    private Fields sum(List<Walker> walkers) {
        Histogram waits = new Histogram();
        Histogram pairs = new Histogram();
        Histogram writerWaits = new Histogram();
        List<Long> counts = new ArrayList<>();
        long overlaps = 0;
        for (Walker walker : walkers) {
            waits.add(walker.waits);
            pairs.add(walker.pairs);
            writerWaits.add(walker.writerWaits);
            counts.add(walker.done);
            overlaps += walker.overlaps;
        }
        Fields figures = new Fields()
                .with("counts", counts)
                .with("overlaps", overlaps)
                .with("waits", waits.toList())
                .with("pairs", pairs.toList());
        if (writerWaits.count() > 0) {
            figures.with("writerWaits", writerWaits.toList());
        }
        Throwable failed = failure.get();
        return failed == null ? figures : figures.with("error", String.valueOf(failed));
    }

    static void parkUntil(long nanoTime) {
        for (long left = nanoTime - System.nanoTime(); left > 0; left = nanoTime - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** One thread of the loop. */
    private final class Walker {
        private final Subject subject;
        private final int number;
        private final SplittableRandom random;
        private final Histogram waits = new Histogram();
        private final Histogram pairs = new Histogram();
        private final Histogram writerWaits = new Histogram();
        private long done;
        private long overlaps;

        Walker(Subject subject, int number) {
            this.subject = subject;
            this.number = number;
            this.random = new SplittableRandom(order.whole("seed") + number);
        }

        void run() {
            try {
                String prefix = order.text("prefix");
                if (order.whole("reentrant") == 1) {
                    reenter(subject.mutex(prefix + "reentrant-" + number));
                    return;
                }
                switch (order.text("names")) {
                    case "own" -> walkOne(subject.mutex(prefix + "own-" + number), number);
                    case "one" -> walkOne(subject.mutex(prefix + "one"), 0);
                    case "zipf" -> walkMany(prefix);
                    case "mixed" -> readAndWrite(subject.reader(prefix + "rw"), subject.writer(prefix + "rw"));
                    default -> throw new IllegalArgumentException("There are no names " + order.text("names"));
                }
            } catch (Exception | Error failed) {
                failure.compareAndSet(null, failed);
            }
        }

        private void walkOne(Section section, int cell) throws Exception {
            parkUntil(startAt);
            while (System.nanoTime() - deadline < 0) {
                step(section, cell, false, waits);
            }
        }

        private void walkMany(String prefix) throws Exception {
            Zipf zipf = new Zipf((int) order.whole("locks"));
            @Nullable Section[] sections = new Section[zipf.size()];
            parkUntil(startAt);
            while (System.nanoTime() - deadline < 0) {
                int drawn = zipf.draw(random);
                Section section = sections[drawn];
                if (section == null) {
                    section = subject.mutex(prefix + "many-" + drawn);
                    sections[drawn] = section;
                }
                step(section, drawn, false, waits);
            }
        }

        private void readAndWrite(Section reader, Section writer) throws Exception {
            parkUntil(startAt);
            while (System.nanoTime() - deadline < 0) {
                boolean write = random.nextDouble() < WRITERS;
                step(write ? writer : reader, 0, !write, write ? writerWaits : waits);
            }
        }

        private void step(Section section, int cell, boolean shared, Histogram waiting) throws Exception {
            long asked = System.nanoTime();
            section.enter();
            long got = System.nanoTime();
            if (guard.enter(cell, shared)) {
                overlaps++;
            }
            guard.leave(cell, shared);
            long leaving = System.nanoTime();
            section.leave();
            long left = System.nanoTime();
            // A wait that ended after the deadline counts as a wait, because the longest ones would be missing
            // otherwise, but not as work done.
            waiting.add(got - asked);
            if (left - deadline <= 0) {
                pairs.add(got - asked + left - leaving);
                done++;
            }
        }

        private void reenter(Section section) throws Exception {
            section.enter();
            parkUntil(startAt);
            while (System.nanoTime() - deadline < 0) {
                long begun = System.nanoTime();
                for (int i = 0; i < BATCH; i++) {
                    section.enter();
                    section.leave();
                }
                pairs.add((System.nanoTime() - begun) / BATCH);
                done += BATCH;
            }
            section.leave();
        }
    }
}
