package dev.holdfast.jdbc;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.process.ChildJvm;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Prints what many clients that want one lock cost a server which they must poll; no test: the figures depend on the machine, and
 * those of the schedule itself are in {@code RowPollsTest}. {@code HerdFigures mariadb|mysql herd CLIENTS SECONDS HOLD_MICROS}: each
 * client has one claim, and asks again at once; the server counts the statements. {@code HerdFigures mariadb|mysql shares SECONDS}:
 * four processes of four threads, and how often each had the lock.
 */
final class HerdFigures {

    private static final LockName NAME = new LockName("hot");
    private static final int PROCESSES = 4;
    private static final int THREADS = 4;

    private HerdFigures() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[1]) {
            case "herd" ->
                herd(
                        Servers.url(arguments[0]) + "&holdfast.ticketTtl=10m",
                        Integer.parseInt(arguments[2]),
                        Duration.ofSeconds(Long.parseLong(arguments[3])),
                        1_000 * Long.parseLong(arguments[4]));
            case "shares" -> shares(Servers.url(arguments[0]), arguments[2]);
            case "process" -> process(arguments[0], Duration.ofSeconds(Long.parseLong(arguments[2])));
            default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    private static void herd(String url, int clients, Duration time, long holdNanos) throws Exception {
        List<LockStore> stores = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        try {
            for (int i = 0; i < clients; i++) {
                stores.add(new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM));
            }
            AtomicLong released = new AtomicLong(System.nanoTime());
            long warm = System.nanoTime() + time.toNanos() / 4;
            long end = System.nanoTime() + time.toNanos();
            List<Future<List<Long>>> idle = new ArrayList<>();
            for (LockStore store : stores) {
                idle.add(threads.submit(() -> client(store, warm, end, holdNanos, released)));
            }
            LockSupport.parkNanos(warm - System.nanoTime());
            long before = questions(url);
            LockSupport.parkNanos(end - System.nanoTime());
            long statements = questions(url) - before;
            List<Long> all = new ArrayList<>();
            long most = 0;
            long least = Long.MAX_VALUE;
            for (Future<List<Long>> one : idle) {
                all.addAll(one.get());
                most = Math.max(most, one.get().size());
                least = Math.min(least, one.get().size());
            }
            all.sort(null);
            System.out.printf(
                    "%d clients, holds of %d us: %.1f statements for each grant, %.0f grants a second,"
                            + " from release to grant p50 %.1f ms, p95 %.1f ms; the busiest had %d turns, the laziest %d%n",
                    clients,
                    holdNanos / 1_000,
                    (double) statements / all.size(),
                    all.size() / (0.75 * time.toMillis() / 1e3),
                    all.get(all.size() / 2) / 1e6,
                    all.get(all.size() * 95 / 100) / 1e6,
                    most,
                    least);
        } finally {
            threads.shutdownNow();
            stores.forEach(LockStore::close);
        }
    }

    // How long after the release of the one before it learned of each grant.
    private static List<Long> client(LockStore store, long warm, long end, long holdNanos, AtomicLong released) {
        Claimant me = new Claimant("me", Duration.ofMinutes(10));
        List<Long> idle = new ArrayList<>();
        while (System.nanoTime() - end < 0) {
            Claim claim = me.mutex(NAME);
            CompletableFuture<Long> granted = new CompletableFuture<>();
            store.enqueue(claim, new Waiter(granted));
            long now;
            try {
                now = granted.join();
            } catch (CompletionException lost) { // others came first too often: the engine would ask again
                store.release(claim.again());
                continue;
            }
            if (now - warm > 0 && now - end < 0) {
                idle.add(now - released.get());
            }
            LockSupport.parkNanos(holdNanos);
            released.set(System.nanoTime());
            release(store, claim);
        }
        return idle;
    }

    private static void release(LockStore store, Claim claim) {
        while (true) {
            try {
                store.release(claim).toCompletableFuture().join();
                return;
            } catch (CompletionException othersCameFirst) {
                Thread.onSpinWait();
            }
        }
    }

    private record Waiter(CompletableFuture<Long> when) implements ClaimListener {

        @Override
        public void waiting(int position, Duration retryAfter) {}

        @Override
        public void granted(Granted granted) {
            when.complete(System.nanoTime());
        }

        @Override
        public void ended(Renewed.Reason reason) {
            when.completeExceptionally(new IllegalStateException(reason.toString()));
        }

        @Override
        public void failed(StoreException cause) {
            when.completeExceptionally(cause);
        }
    }

    private static long questions(String url) throws SQLException {
        try (Connection connection = Servers.connect(url.replaceAll("&holdfast.*", ""));
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SHOW GLOBAL STATUS LIKE 'Questions'")) {
            rows.next();
            return rows.getLong(2);
        }
    }

    private static void shares(String url, String seconds) {
        new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM).close();
        List<ChildJvm> processes = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                processes.add(ChildJvm.start(HerdFigures.class, url, "process", seconds));
            }
            processes.forEach(process -> process.expect("ready"));
            processes.forEach(process -> process.send("go"));
            Duration patience = Duration.ofSeconds(Long.parseLong(seconds) + 60);
            List<Long> turns = new ArrayList<>();
            for (ChildJvm process : processes) {
                List<Long> ofThreads = Arrays.stream(
                                process.expect("turns", patience).strip().split(" "))
                        .map(Long::valueOf)
                        .toList();
                System.out.printf("a process: %s%n", ofThreads);
                turns.add(ofThreads.stream().mapToLong(Long::longValue).sum());
            }
            turns.sort(null);
            System.out.printf(
                    "%d processes of %d threads: the busiest process had %.2f times the turns of the laziest%n",
                    PROCESSES, THREADS, (double) turns.get(PROCESSES - 1) / turns.get(0));
        } finally {
            processes.forEach(ChildJvm::close);
        }
    }

    private static void process(String url, Duration time) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (Holdfast locks = Holdfast.connect(url)) {
            DistributedLock lock = locks.lock("hot");
            System.out.println("ready");
            while (System.in.read() != '\n') {
                // The order is always the same.
            }
            long end = System.nanoTime() + time.toNanos();
            List<Future<Long>> counts = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                counts.add(threads.submit(() -> {
                    long count = 0;
                    for (; System.nanoTime() - end < 0; count++) {
                        lock.lock();
                        lock.unlock();
                    }
                    return count;
                }));
            }
            StringBuilder turns = new StringBuilder("turns");
            for (Future<Long> count : counts) {
                turns.append(' ').append(count.get());
            }
            System.out.println(turns);
        } finally {
            threads.shutdownNow();
        }
    }
}
