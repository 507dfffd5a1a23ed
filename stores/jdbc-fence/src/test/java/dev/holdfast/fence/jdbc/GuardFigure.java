package dev.holdfast.fence.jdbc;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.jdbc.Servers;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A transaction of a user's asserts that a lock is held, and stays open for longer than its lease, while the same client
 * renews many other leases: prints what that costs these, and what becomes of the transaction.
 */
final class GuardFigure {

    private static final String GUARDED = "guarded";

    /** The events of the client's renewals. */
    private static final class Batches implements LockObserver {

        final AtomicInteger count = new AtomicInteger();
        final AtomicInteger largest = new AtomicInteger();
        final AtomicInteger failed = new AtomicInteger();
        final AtomicLong longestNanos = new AtomicLong();

        @Override
        public void renewed(int claims, int notRenewed, Duration took) {
            count.incrementAndGet();
            largest.accumulateAndGet(claims, Math::max);
            failed.addAndGet(notRenewed);
            longestNanos.accumulateAndGet(took.toNanos(), Math::max);
        }
    }

    private GuardFigure() {}

    /** Arguments: the product as {@link Servers#url} names it, how many seconds the guard is held, how many other leases. */
    public static void main(String[] arguments) throws SQLException, InterruptedException {
        print(
                Servers.url(arguments[0]),
                Duration.ofSeconds(Integer.parseInt(arguments[1])),
                Integer.parseInt(arguments[2]));
    }

    private static void print(String url, Duration time, int count) throws SQLException, InterruptedException {
        Batches batches = new Batches();
        AtomicInteger lost = new AtomicInteger();
        try (Holdfast locks = Holdfast.builder().url(url).observer(batches).connect();
                Holdfast others = Holdfast.connect(url);
                Connection user = Servers.connect(url);
                Statement statement = user.createStatement()) {
            statement.execute("CREATE TABLE written (id INTEGER PRIMARY KEY, token BIGINT NOT NULL)");
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                Lease lease = locks.lock("other-" + i).acquire();
                lease.onLost(reason -> lost.incrementAndGet());
                leases.add(lease);
            }
            Lease guarded = locks.lock(GUARDED).acquire();
            user.setAutoCommit(false);
            statement.execute("INSERT INTO written VALUES (1, " + guarded.token() + ")");
            JdbcFence.standard().requireLive(user, guarded);
            boolean taken = holdOn(time, others);
            String result = commit(user, statement);
            long valid = leases.stream().filter(Lease::isValid).count();
            System.out.printf(
                    "%d leases beside a guard of %d s: %d lost, %d valid at the end; %d batches of at most %d, %d answers"
                            + " failed, the longest took %.1f ms%n",
                    count,
                    time.toSeconds(),
                    lost.get(),
                    valid,
                    batches.count.get(),
                    batches.largest.get(),
                    batches.failed.get(),
                    batches.longestNanos.get() / 1e6);
            Lease next = others.lock(GUARDED).acquire(Duration.ofSeconds(60));
            System.out.printf(
                    "the guard: %s; its lock was granted to others meanwhile: %s; its own lease: %s; next token larger: %s%n",
                    result, taken ? "YES" : "no", guarded, next.token() > guarded.token());
        }
    }

    // Whether another client got the lock while the transaction was open.
    private static boolean holdOn(Duration time, Holdfast others) throws InterruptedException {
        LockOptions impatient = LockOptions.defaults().withStoreTimeout(Duration.ofMillis(500));
        long start = System.nanoTime();
        boolean taken = false;
        while (System.nanoTime() - start < time.toNanos()) {
            Thread.sleep(1_000);
            try {
                taken |= others.lock(GUARDED, impatient).tryAcquire().isPresent();
            } catch (LockException rowIsLocked) {
                continue;
            }
        }
        return taken;
    }

    private static String commit(Connection user, Statement statement) throws SQLException {
        try {
            user.commit();
        } catch (SQLException failure) {
            return "not committed: " + failure.getMessage();
        }
        try (ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM written")) {
            rows.next();
            return "committed, rows written: " + rows.getInt(1);
        }
    }
}
