package dev.holdfast.jdbc;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.process.ChildJvm;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Prints what locks cost on a server of its own; no test. The server waits for the disk, so put its data on a real one: {@code
 * java -Dholdfast.server.folder=/var/tmp ... ServerFigures postgresql|mariadb|mysql FIGURE}, where FIGURE is
 *
 * <ul>
 *   <li>{@code pair [N]}: acquire and release of a free lock beside a prepared upsert and a prepared update of one row in
 *       autocommit, three rounds of each in turn, medians
 *   <li>{@code wake N WAIT_MILLIS}: hand-over to another process that has waited for so long; with PostgreSQL by polling,
 *       then by {@code NOTIFY}
 *   <li>{@code renew N}: one renewal of N leases
 *   <li>{@code threads SECONDS}: 16 threads of one client on one lock
 *   <li>{@code several PROCESSES SECONDS}: processes that take 2 to 5 of 12 names at once, in random orders
 * </ul>
 */
final class ServerFigures {

    private static final int ROUNDS = 3;
    private static final int THREADS = 16;

    private static final String UPSERT_POSTGRES = """
            INSERT INTO bare AS l (name, owner, token, expires) VALUES (?, ?, 1, clock_timestamp() + interval '30 s')
            ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = l.token + 1, expires = excluded.expires
            WHERE l.expires <= clock_timestamp() RETURNING token
            """;

    private static final String UPSERT_MARIA = """
            INSERT INTO bare (name, owner, token, expires) VALUES (?, ?, 1, UTC_TIMESTAMP(6) + INTERVAL 30 SECOND)
            ON DUPLICATE KEY UPDATE token = IF(expires <= UTC_TIMESTAMP(6), token + 1, token),
              owner = IF(expires <= UTC_TIMESTAMP(6), VALUES(owner), owner),
              expires = IF(expires <= UTC_TIMESTAMP(6), VALUES(expires), expires)
            """;

    private ServerFigures() {}

    public static void main(String[] arguments) throws Exception {
        boolean isPostgres = arguments[0].equals("postgresql");
        String url = Servers.url(arguments[0]);
        int number = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 2_000;
        switch (arguments[1]) {
            case "pair" -> pairs(url, isPostgres, number);
            case "wake" -> {
                StoreFigures.main(new String[] {url, "wake", arguments[2], arguments[3]});
                if (isPostgres) {
                    StoreFigures.main(
                            new String[] {url + "&holdfast.wakeup=notify", "wake", arguments[2], arguments[3]});
                }
            }
            case "renew" -> StoreFigures.main(new String[] {url, "renew", arguments[2]});
            case "threads" -> threads(url, number);
            case "several" -> several(url, number, arguments[3]);
            default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    private static void pairs(String url, boolean isPostgres, int pairs) throws SQLException {
        for (int round = 0; round <= ROUNDS; round++) {
            double bare = isPostgres
                    ? bare(url, UPSERT_POSTGRES, "timestamptz", "clock_timestamp()", pairs)
                    : bare(url, UPSERT_MARIA, "datetime(6)", "UTC_TIMESTAMP(6)", pairs);
            double full = pair(url, pairs);
            double relaxed = isPostgres ? pair(url + "&holdfast.durability=relaxed", pairs) : Double.NaN;
            System.out.printf(
                    "%s: bare %.0f us, ours %.0f (%.2f of it), relaxed %.0f (%.2f)%n",
                    round == 0 ? "warm-up" : "round " + round, bare, full, full / bare, relaxed, relaxed / bare);
        }
    }

    private static void threads(String url, int seconds) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (Holdfast locks = Holdfast.connect(url)) {
            List<Future<Integer>> counts = new ArrayList<>();
            long end = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
            for (int i = 0; i < THREADS; i++) {
                counts.add(threads.submit(() -> {
                    int count = 0;
                    for (; System.nanoTime() - end < 0; count++) {
                        try (Lease ignored = locks.lock("figures").acquire()) {
                            Thread.onSpinWait();
                        }
                    }
                    return count;
                }));
            }
            int all = 0;
            for (Future<Integer> count : counts) {
                all += count.get();
            }
            System.out.printf("%d threads on one lock: %d acquisitions a second%n", THREADS, all / seconds);
        } finally {
            threads.shutdownNow();
        }
    }

    private static void several(String url, int count, String seconds) {
        new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM).close();
        SeveralProcess.prepare(url);
        List<ChildJvm> processes = new ArrayList<>();
        try {
            for (int i = 1; i <= count; i++) {
                processes.add(ChildJvm.start(SeveralProcess.class, url, Integer.toString(i), seconds));
            }
            processes.forEach(process -> process.expect("ready"));
            processes.forEach(process -> process.send("go"));
            Duration patience = Duration.ofSeconds(Long.parseLong(seconds) + 60);
            int all = 0;
            for (ChildJvm process : processes) {
                int done = Integer.parseInt(process.expect("done", patience));
                System.out.printf("a process: %d times%n", done);
                all += done;
            }
            System.out.printf("%d processes, %s s: %d times, none partial, none at once%n", count, seconds, all);
        } finally {
            processes.forEach(ChildJvm::close);
        }
    }

    private static double pair(String url, int pairs) {
        Claimant me = new Claimant("me", Duration.ofMinutes(1));
        double[] micros = new double[pairs];
        try (LockStore store = new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM)) {
            for (int i = 0; i < pairs; i++) {
                long start = System.nanoTime();
                Claim claim = me.mutex(new LockName("figures"));
                Attempt attempt = store.tryAcquire(claim).toCompletableFuture().join();
                store.release(claim).toCompletableFuture().join();
                micros[i] = (System.nanoTime() - start) / 1e3;
                if (!(attempt instanceof Granted)) {
                    throw new IllegalStateException("not free");
                }
            }
        }
        return median(micros);
    }

    private static double bare(String url, String upsert, String type, String now, int pairs) throws SQLException {
        double[] micros = new double[pairs];
        try (Connection connection = DriverManager.getConnection(url);
                Statement ddl = connection.createStatement()) {
            ddl.execute(
                    "CREATE TABLE IF NOT EXISTS bare (name varchar(255) PRIMARY KEY, owner varchar(100), token bigint,"
                            + " expires " + type + ")");
            try (PreparedStatement acquire = connection.prepareStatement(upsert);
                    PreparedStatement release = connection.prepareStatement(
                            "UPDATE bare SET expires = " + now + " WHERE name = ? AND owner = ?")) {
                for (int i = 0; i < pairs; i++) {
                    String owner = "owner-" + i;
                    long start = System.nanoTime();
                    acquire.setString(1, "figures");
                    acquire.setString(2, owner);
                    acquire.execute();
                    release.setString(1, "figures");
                    release.setString(2, owner);
                    release.executeUpdate();
                    micros[i] = (System.nanoTime() - start) / 1e3;
                }
            }
        }
        return median(micros);
    }

    static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }
}
