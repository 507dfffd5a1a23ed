package dev.holdfast.benchmarks.soak;

import dev.holdfast.Holdfast;
import dev.holdfast.benchmarks.report.CoursePlots;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Does everything at once on all stores at once, at a pace, and checks that nothing is left.
 *
 * <pre>
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.soak.Soak \
 *       [--minutes 30] [--store redis,etcd] [--rate 20] [--out benchmarks/target/soak]
 * </pre>
 *
 * <p>Everything is used once and closed, and a first {@link Census} is taken. Then two clients of each store stay open, and are used
 * in rounds, beside others that are opened and closed. After each round nothing is done for a moment, and
 *
 * <ul>
 *   <li>no name is held or waited for, in any client or store;
 *   <li>there are as many of our objects as after the first round, within {@link #SLACK} for each class but those of {@link
 *       #REMEMBERED}, and the heap is as large within {@link #HEAP_SLACK_OF_CACHES}.
 * </ul>
 *
 * <p>In the end all clients are closed, and there are no threads, file handles, connections and objects that the first census
 * had not, and nothing in the servers that belongs to a client. The rate is how many deeds in a second each store gets.
 */
public final class Soak {

    /** So many more objects of a class are no leak: some are made once, when a rare path is taken first. */
    private static final long SLACK = 16;

    /**
     * So much more of the heap is none: the JVM's and the drivers' own caches, which grow for some minutes, take less. It finds 23
     * bytes or more that each deed of half an hour leaves on ten stores, or 230 on one of them. Shorter runs find much larger
     * leaks only; there the objects of each class are what counts.
     */
    private static final long HEAP_SLACK = 8 << 20;

    /**
     * So much more of it is none while clients are open, whose caches fill: Memcached's remembers 10,000 names, those of the
     * databases 2,048 entries for each connection, and a quorum its claims of the last minute.
     */
    private static final long HEAP_SLACK_OF_CACHES = 16 << 20;

    /**
     * What is in those caches, and what is remembered for a minute at the most: claims of a quorum, nodes of ZooKeeper that may
     * come late, time limits of calls that have ended. All other objects of clients that are open are as many after each round.
     */
    private static final List<String> REMEMBERED = List.of(
            "dev.holdfast.spi.",
            "dev.holdfast.store.ResourceRecord",
            "dev.holdfast.memory.MemoryLockStore$TombstonesEnd",
            "dev.holdfast.store.TimeLimit",
            "dev.holdfast.jdbc.row.",
            "dev.holdfast.memcached.",
            "dev.holdfast.quorum.",
            "dev.holdfast.zookeeper.claim.OrphanCleaner$LateNode",
            // Of names for which nobody waits, and connections of pools; each has its bound.
            "dev.holdfast.etcd.rpc.SharedWatch",
            "dev.holdfast.jdbc.waiting.RowPolls$Polls",
            "dev.holdfast.redis.jedis.OwnConnections$AddressedConnection");

    private static final int MOST_SAMPLES = 360;
    private static final Duration LONGEST_ROUND = Duration.ofMinutes(3);
    /** How long threads, sessions, connections and objects of closed clients may take to end. */
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    /**
     * How long a lease that is left to run out, and what follows in the background, may take. It is shorter than the time to live of
     * a waiter that nobody refreshes, and much shorter than the usual lease: a claim that was forgotten must be found before it ends.
     */
    private static final Duration PATIENCE_FOR_NAMES = Duration.ofSeconds(4);

    private static final Duration LOOK = Duration.ofMillis(50);

    /** What a run is to be; {@code patience} is how long what was let go may take to be gone. */
    record Settings(List<String> stores, Duration time, double perSecond, Duration openEvery, Duration patience) {

        /** Two rounds at least, as the second is compared with the first. */
        int rounds() {
            return (int) Math.max(2, time.dividedBy(LONGEST_ROUND));
        }
    }

    /** What is done besides, in each turn of a thread of its own. For tests of the checks, which must find what it leaves. */
    interface Extra {
        void run(SoakedStore store, Holdfast client) throws Exception;
    }

    /** A store with the clients that stay open, and how many connections there were without them. */
    private record InUse(SoakedStore store, int connections, List<Holdfast> clients) {}

    private final Settings settings;
    private final Path out;
    private final Extra extra;
    private final Failures failures = new Failures();
    private final AtomicLong operations = new AtomicLong();
    private final List<String> found = new ArrayList<>();
    private final List<SoakedStore> stores = new ArrayList<>();

    Soak(Settings settings, Path out, Extra extra) {
        this.settings = settings;
        this.out = out;
        this.extra = extra;
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("java.awt.headless", "true");
        Map<String, String> options = options(arguments);
        Path out = Path.of(options.getOrDefault("--out", "benchmarks/target/soak"));
        double minutes = Double.parseDouble(options.getOrDefault("--minutes", "30"));
        String stores = options.getOrDefault("--store", String.join(",", SoakedStore.NAMES));
        double perSecond = Double.parseDouble(options.getOrDefault("--rate", "20"));
        Settings settings = new Settings(
                List.of(stores.split(",")),
                Duration.ofMillis((long) (minutes * Duration.ofMinutes(1).toMillis())),
                perSecond,
                Duration.ofSeconds(2),
                PATIENCE);
        List<String> found = new Soak(settings, out, (store, client) -> {}).run();
        found.forEach(line -> System.out.println("LEFT: " + line));
        System.out.println(found.isEmpty() ? "Nothing was left." : found.size() + " findings.");
        System.exit(found.isEmpty() ? 0 : 1);
    }

    private static Map<String, String> options(String[] arguments) {
        Set<String> known = Set.of("--minutes", "--store", "--rate", "--out");
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i < arguments.length; i += 2) {
            if (!known.contains(arguments[i]) || i + 1 == arguments.length) {
                throw new IllegalArgumentException(arguments[i] + " is not known or has no value; there are " + known);
            }
            options.put(arguments[i], arguments[i + 1]);
        }
        return options;
    }

    /** Runs it, and returns what was left and what went wrong. */
    List<String> run() throws Exception {
        Files.createDirectories(out);
        Path course = out.resolve("soak.csv");
        try (Interrupts interrupts = new Interrupts()) {
            startServers();
            useAllOnce(interrupts);
            Duration every = settings.time().dividedBy(MOST_SAMPLES).plusSeconds(1);
            try (Course figures = new Course(stores, operations, course, every, failures)) {
                run(interrupts, figures);
            }
        } finally {
            stores.forEach(SoakedStore::close);
        }
        CoursePlots.write(course, out.resolve("soak.png"));
        if (failures.count() > 0) {
            found.add(failures.count() + " deeds failed; the first ones with " + failures.first());
        }
        return found;
    }

    private void startServers() {
        List<CompletableFuture<SoakedStore>> starting = settings.stores().stream()
                .map(name -> CompletableFuture.supplyAsync(() -> SoakedStore.start(name)))
                .toList();
        starting.forEach(store -> stores.add(store.join()));
    }

    private void run(Interrupts interrupts, Course figures) throws Exception {
        await(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("holdfast")));
        Census before = figures.during(Census::take);
        say("before", before);
        useInRounds(interrupts, figures);
        Census after = figures.during(() -> Census.takeWhenSettled(before, SLACK, this::await));
        say("after", after);
        found.addAll(after.growthSince(before, SLACK, HEAP_SLACK));
    }

    // The clients are known here only, so that they are garbage when this has returned.
    private void useInRounds(Interrupts interrupts, Course figures) throws Exception {
        List<InUse> all = new ArrayList<>();
        for (SoakedStore store : stores) {
            int connections = figures.during(store::connections);
            all.add(new InUse(store, connections, List.of(store.connect("soak-1"), store.connect("soak-2"))));
        }
        runRounds(interrupts, figures, all);
        all.forEach(used -> used.clients().forEach(Holdfast::close));
        for (InUse used : all) {
            checkContents(used, figures);
            used.store().closeShared();
        }
    }

    /** What is loaded, started and cached once must be there before anything is counted. */
    private void useAllOnce(Interrupts interrupts) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (SoakedStore store : stores) {
            Thread thread = new Thread(() -> useOnce(store, interrupts), "soak-first-" + store.name());
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void useOnce(SoakedStore store, Interrupts interrupts) {
        try (Holdfast client = store.connect("soak-first")) {
            Deeds deeds = new Deeds(client, interrupts, false);
            deeds.doAll();
            deeds.abandon();
            store.namesInUse();
            store.residue();
        } catch (InterruptedException | RuntimeException failure) {
            failures.add(store.name(), failure);
        }
    }

    private void runRounds(Interrupts interrupts, Course figures, List<InUse> all) throws Exception {
        Census first = null;
        for (int i = 1; i <= settings.rounds(); i++) {
            Round round = new Round(interrupts, operations, failures);
            for (InUse used : all) {
                round.add(used.store(), used.clients(), settings.perSecond(), settings.openEvery());
            }
            round.run(settings.time().dividedBy(settings.rounds()));
            for (InUse used : all) {
                extra.run(used.store(), used.clients().get(0));
                checkIdle(used);
            }
            Census before = first;
            Census idle = figures.during(() -> takeIdle(before));
            say("round " + i, idle);
            if (before == null) {
                first = idle;
            } else {
                found.addAll(idle.objectsSince(before, SLACK, REMEMBERED));
                if (idle.heapBytes() - before.heapBytes() > HEAP_SLACK_OF_CACHES) {
                    found.add("heap: " + before.heapBytes() + " bytes after the first round, " + idle.heapBytes()
                            + " after round " + i);
                }
            }
        }
    }

    // What a timer keeps, as a node of the quorum that was closed while it was to be asked again, is garbage when it
    // has
    // run.
    private Census takeIdle(@Nullable Census first) {
        if (first != null) {
            await(() -> Census.take().objectsSince(first, SLACK, REMEMBERED).isEmpty());
        }
        return Census.take();
    }

    /** What was left to run out has run out soon, and then nobody holds or waits. */
    private void checkIdle(InUse used) {
        await(patienceForNames(), () -> used.clients().stream().allMatch(Soak::isIdle));
        for (Holdfast client : used.clients()) {
            if (!isIdle(client)) {
                found.add(used.store().name() + ": a client still has " + client.heldCount() + " holds and "
                        + client.waitingCount() + " waits");
            }
        }
        checkNames(used.store());
    }

    private static boolean isIdle(Holdfast client) {
        return client.heldCount() + client.waitingCount() == 0;
    }

    private void checkNames(SoakedStore store) {
        await(patienceForNames(), () -> store.namesInUse().isEmpty());
        store.namesInUse().forEach(name -> found.add(store.name() + ": somebody holds or waits for " + name));
    }

    private void checkContents(InUse used, Course figures) {
        SoakedStore store = used.store();
        checkNames(store);
        await(() -> store.residue().isEmpty() && figures.during(store::connections) <= used.connections());
        store.residue().forEach(what -> found.add(store.name() + ": " + what));
        int connections = figures.during(store::connections);
        if (connections > used.connections()) {
            found.add(store.name() + ": " + connections + " connections instead of " + used.connections());
        }
    }

    private Duration patienceForNames() {
        return settings.patience().compareTo(PATIENCE_FOR_NAMES) < 0 ? settings.patience() : PATIENCE_FOR_NAMES;
    }

    private void await(BooleanSupplier condition) {
        await(settings.patience(), condition);
    }

    private static void await(Duration patience, BooleanSupplier condition) {
        long deadline = System.nanoTime() + patience.toNanos();
        while (!condition.getAsBoolean() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(LOOK.toNanos());
        }
    }

    private void say(String when, Census census) {
        StringBuilder line = new StringBuilder(when + ": " + operations + " deeds, heap " + (census.heapBytes() >> 10)
                + " KB, " + census.objectCount() + " objects of ours, " + census.threadCount() + " threads, "
                + census.handleCount() + " handles; connections:");
        for (SoakedStore store : stores) {
            line.append(' ').append(store.name()).append(' ').append(store.connections());
        }
        System.out.println(line);
    }
}
