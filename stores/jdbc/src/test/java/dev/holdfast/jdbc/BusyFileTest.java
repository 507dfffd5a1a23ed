package dev.holdfast.jdbc;

import static dev.holdfast.testkit.StoreTest.failure;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another process has the file locked, or a thread is interrupted. */
class BusyFileTest {

    private static final LockName NAME = new LockName("door");
    private static final Duration BUSY_TIMEOUT = Duration.ofSeconds(1);
    private static final int CALLS = 64;

    @TempDir
    Path folder;

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private Path file;
    private LockStore store;

    @BeforeEach
    void open() {
        file = folder.resolve("locks.db");
        store = new SqliteLockStoreProvider()
                .open("sqlite:" + file + "?busyTimeout=" + BUSY_TIMEOUT, MonotonicClock.SYSTEM);
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void callsGiveUpAndHadNoEffect() throws SQLException {
        Claim claim = alice.mutex(NAME);
        try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = other.createStatement()) {
            statement.execute("BEGIN IMMEDIATE");
            // The file is free again when the call has ended, and not before.
            StoreException failure = failure(store.tryAcquire(claim));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
            assertThat(failure).hasMessageContaining(file.toString());
            assertThat(store.list("", 10).toCompletableFuture().join())
                    .as("readers do not wait for the writer")
                    .isEmpty();
            statement.execute("ROLLBACK");
        }
        assertThat(store.tryAcquire(claim).toCompletableFuture().join()).isInstanceOf(Granted.class);
    }

    @Test
    void manyCallsThatQueueForABusyFileAllEndInTime() throws Exception {
        try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = other.createStatement()) {
            statement.execute("BEGIN IMMEDIATE");
            long start = System.nanoTime();
            List<CompletableFuture<StoreException>> failures = new ArrayList<>();
            for (int i = 0; i < CALLS; i++) {
                failures.add(CompletableFuture.supplyAsync(
                        () -> failure(store.tryAcquire(alice.mutex(NAME))), task -> new Thread(task).start()));
            }
            failures.forEach(failure -> assertThat(failure.join().effect()).isEqualTo(Effect.NONE));
            // If each waited for the file for as long as it may, it would be twice as long.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(BUSY_TIMEOUT.multipliedBy(CALLS / 2));
        }
    }

    @Test
    void renewalsDoNotQueueBehindWork() throws Exception {
        Claim held = alice.mutex(NAME);
        SqliteDialect dialect = new SqliteDialect(MonotonicClock.SYSTEM, "boot", "file");
        SqliteFile source = new SqliteFile(folder.resolve("stuck.db"), Duration.ofSeconds(5), dialect);
        try (RowLockStore stuck =
                SqliteLockStoreProvider.open(dialect, source, StoreOptions.DEFAULTS, MonotonicClock.SYSTEM)) {
            stuck.tryAcquire(held).toCompletableFuture().join();
            CountDownLatch inside = new CountDownLatch(1);
            CountDownLatch mayEnd = new CountDownLatch(1);
            Thread work = new Thread(() -> stuck.start(statements -> {
                inside.countDown();
                try {
                    mayEnd.await();
                } catch (InterruptedException end) {
                    return;
                }
            }));
            work.start();
            inside.await();
            assertThat(stuck.renew(List.of(held)).toCompletableFuture().join().get(0))
                    .isInstanceOf(Granted.class);
            mayEnd.countDown();
            work.join();
        }
    }

    @Test
    void interruptedThreadIsServedAndStaysInterrupted() {
        Claim claim = alice.mutex(NAME);
        Thread.currentThread().interrupt();
        try {
            assertThat(store.tryAcquire(claim).toCompletableFuture().join()).isInstanceOf(Granted.class);
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
        } finally {
            Thread.interrupted();
        }
    }

    @Test
    void interruptsDoNoHarmToAFileOfH2() throws Exception {
        try (LockStore h2 =
                new JdbcLockStoreProvider().open("jdbc:h2:" + folder.resolve("h2"), MonotonicClock.SYSTEM)) {
            List<Claim> held = new ArrayList<>();
            Thread worker = new Thread(() -> {
                for (int i = 0; i < 300; i++) {
                    Claim claim = alice.mutex(new LockName("n" + i));
                    h2.tryAcquire(claim).toCompletableFuture().join();
                    held.add(claim);
                }
            });
            worker.start();
            while (worker.isAlive()) {
                worker.interrupt();
                Thread.sleep(1);
            }
            worker.join();
            assertThat(h2.renew(held).toCompletableFuture().join()).hasSize(300).allMatch(Granted.class::isInstance);
        }
    }

    @Test
    void closedStoreSaysSo() {
        store.close();
        store.close();
        StoreException failure = failure(store.tryAcquire(alice.mutex(NAME)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure).hasMessageContaining("closed");
    }
}
