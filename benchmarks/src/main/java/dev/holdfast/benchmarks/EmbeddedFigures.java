package dev.holdfast.benchmarks;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.LockOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The figures of the embedded store: a free lock, 16 threads of one JVM on one lock, and how long a second JVM waits
 * meanwhile. Prints a Markdown table.
 *
 * <pre>
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.EmbeddedFigures [URL]
 * </pre>
 *
 * <p>Without a URL it works on a SQLite file in a temporary folder, which it removes. Medians of {@value #ROUNDS}
 * rounds after a warm-up; the rounds of what is compared are interleaved.
 */
public final class EmbeddedFigures {

    private static final int ROUNDS = 3;
    /** On a small machine the compiler needs several seconds for the contended paths. */
    private static final int WARM_UP_ROUNDS = 4;

    private static final int THREADS = 16;
    private static final int TRIES = 200;
    private static final long ROUND_NANOS = 3_000_000_000L;

    private final String url;

    private EmbeddedFigures(String url) {
        this.url = url;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length > 0) {
            new EmbeddedFigures(args[0]).run();
            return;
        }
        Path folder = Files.createTempDirectory("holdfast-figures");
        try {
            new EmbeddedFigures("sqlite:" + folder.resolve("locks.db")).run();
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder())
                        .forEach(file -> file.toFile().delete());
            }
        }
    }

    private void run() throws IOException, InterruptedException {
        System.out.printf(
                "Store %s, JDK %s, %d cores, medians of %d rounds of %d s%n%n",
                url.substring(0, url.indexOf(':') + 1),
                Runtime.version(),
                Runtime.getRuntime().availableProcessors(),
                ROUNDS,
                TimeUnit.NANOSECONDS.toSeconds(ROUND_NANOS));
        System.out.println("| workload | result |");
        System.out.println("| --- | --- |");
        try (Holdfast locks = Holdfast.connect(url)) {
            throughput(locks);
            newcomer(locks);
            writerAmongReaders(locks);
        }
    }

    private static void row(String workload, String format, Object... values) {
        System.out.println("| " + workload + " | " + String.format(Locale.ROOT, format, values) + " |");
    }

    private void throughput(Holdfast locks) throws InterruptedException {
        DistributedLock free = locks.lock("free");
        DistributedLock hot = locks.lock("hot");
        DistributedLock fair = locks.lock("fair", LockOptions.defaults().withFair(true));
        List<Double> freeRates = new ArrayList<>();
        List<Double> hotRates = new ArrayList<>();
        List<Double> fairRates = new ArrayList<>();
        double hotShare = 0;
        double fairShare = 0;
        double hotWait = 0;
        long overlaps = 0;
        for (int round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
            double freeRate = pairsPerSecond(free);
            HotThreads hotThreads = hammer(hot);
            HotThreads fairThreads = hammer(fair);
            overlaps += hotThreads.overlaps() + fairThreads.overlaps();
            if (round >= 0) {
                freeRates.add(freeRate);
                hotRates.add(perSecond(hotThreads.total()));
                fairRates.add(perSecond(fairThreads.total()));
                hotShare = Math.max(hotShare, hotThreads.busiestToLaziest());
                fairShare = Math.max(fairShare, fairThreads.busiestToLaziest());
                hotWait = Math.max(hotWait, hotThreads.longestWaitMillis());
            }
        }
        row("free acquire + release, 1 thread", "%,.0f pairs/s, %.1f us", median(freeRates), 1e6 / median(freeRates));
        row("16 threads of one JVM, one lock, default", "%,.0f acquisitions/s", median(hotRates));
        row("- busiest to laziest thread, worst round; longest wait", "%.2f; %.1f ms", hotShare, hotWait);
        row("16 threads of one JVM, one lock, fair", "%,.0f acquisitions/s", median(fairRates));
        row("- of the rate of a free pair", "%.2f", median(fairRates) / median(freeRates));
        row("- busiest to laziest thread, worst round", "%.2f", fairShare);
        row("overlapping holders seen", "%d", overlaps);
    }

    private static double pairsPerSecond(DistributedLock lock) {
        long begun = System.nanoTime();
        long pairs = 0;
        while (System.nanoTime() - begun < ROUND_NANOS) {
            lock.lock();
            lock.unlock();
            pairs++;
        }
        return pairs * 1e9 / (System.nanoTime() - begun);
    }

    private static HotThreads hammer(DistributedLock lock) throws InterruptedException {
        HotThreads threads = new HotThreads(THREADS, lock, true);
        threads.awaitStart();
        TimeUnit.NANOSECONDS.sleep(ROUND_NANOS);
        threads.close();
        return threads;
    }

    private void newcomer(Holdfast locks) throws IOException, InterruptedException {
        HotThreads threads = new HotThreads(THREADS, locks.lock("hot"), true);
        try {
            Samples waits = Newcomer.run(url, "mutex", "hot", TRIES);
            waits(waits, "a second JVM that wants the lock meanwhile");
        } finally {
            threads.close();
        }
    }

    private void writerAmongReaders(Holdfast locks) throws IOException, InterruptedException {
        HotThreads readers = new HotThreads(THREADS, locks.readWriteLock("rw").readLock(), false);
        try {
            Samples waits = Newcomer.run(url, "write", "rw", TRIES);
            waits(waits, "a writer in a second JVM, 16 overlapping readers in the first");
        } finally {
            readers.close();
        }
    }

    private static void waits(Samples waits, String workload) {
        row(
                workload,
                "%d tries: p50 %.1f ms, p99 %.1f ms, max %.1f ms",
                waits.size(),
                waits.millisAt(0.5),
                waits.millisAt(0.99),
                waits.maxMillis());
    }

    private static double perSecond(long count) {
        return count * 1e9 / ROUND_NANOS;
    }

    private static double median(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        return sorted.get(sorted.size() / 2);
    }
}
