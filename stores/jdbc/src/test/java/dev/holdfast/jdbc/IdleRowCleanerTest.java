package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.row.IdleRowCleaner;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What stays in the table, and for how long. */
class IdleRowCleanerTest {

    private static final LockName NAME = new LockName("rare");

    @TempDir
    Path folder;

    private final ManualClock clock = new ManualClock(Seeds.of("idle rows"));
    private final Claimant alice = new Claimant("alice", Duration.ofHours(20));
    private Path file;
    private RowLockStore store;

    @BeforeEach
    void open() {
        file = folder.resolve("locks.db");
        store = SqliteLockStoreProvider.open(file, StoreOptions.DEFAULTS, clock, "boot");
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void idleRowsGoAfterThirtyDaysAndTokensGrowOn() throws SQLException {
        Claim used = alice.mutex(NAME);
        long counter = granted(used);
        release(used);
        Claim neverHeld = alice.mutex(new LockName("tombstone"));
        release(neverHeld);
        for (int i = 0; i < 3 * IdleRowCleaner.STEP; i++) {
            Claim claim = alice.mutex(new LockName("n" + i));
            granted(claim);
            release(claim);
        }
        Claim kept = alice.mutex(new LockName("kept"));
        granted(kept);
        pass(Duration.ofDays(29), kept);
        renewOften(kept);
        // A row that has nothing but a tombstone is of no use when that is over.
        assertThat(rows()).as("rows after 29 days").isEqualTo(3 * IdleRowCleaner.STEP + 2);
        pass(Duration.ofDays(2), kept);
        renewOften(kept);
        assertThat(rows()).as("rows after 31 days: the one in use").isEqualTo(1);
        assertThat(granted(alice.mutex(NAME))).isGreaterThan(counter);
    }

    @Test
    void oneStepIsBounded() throws SQLException {
        for (int i = 0; i < 3 * IdleRowCleaner.STEP; i++) {
            Claim claim = alice.mutex(new LockName("n" + i));
            granted(claim);
            release(claim);
        }
        clock.advance(Duration.ofDays(40));
        Claim holder = alice.mutex(new LockName("a"));
        granted(holder);
        renew(holder);
        assertThat(rows()).isBetween(2 * IdleRowCleaner.STEP + 1, 3 * IdleRowCleaner.STEP);
    }

    @Test
    void oneStepEndsWithItsTimeAndTheNextGoesOnThere() throws SQLException {
        for (int i = 0; i < 10; i++) {
            Claim claim = alice.mutex(new LockName("n" + i));
            granted(claim);
            release(claim);
        }
        long keep = RowCodec.micros(Duration.ofDays(30));
        clock.advance(Duration.ofDays(40));
        try (LockTable table = table()) {
            String first = table.removeIdle("", keep, IdleRowCleaner.STEP, Duration.ofNanos(-1));
            assertThat(rows()).as("no time, so no more than one is removed").isEqualTo(9);
            String end = table.removeIdle(first, keep, 4, Duration.ofMillis(1));
            assertThat(rows()).isEqualTo(5);
            table.removeIdle(end, keep, IdleRowCleaner.STEP, Duration.ofMillis(1));
            assertThat(rows()).isZero();
        }
    }

    @Test
    void fullQueueRefusesOneMore() throws SQLException {
        Claim holder = alice.mutex(NAME);
        granted(holder);
        try (LockTable table = table()) {
            // Enqueued in one transition: one by one, each would read and write all that are there.
            table.transition(
                    List.of(NAME),
                    read -> {
                        for (int i = 0; i < LockStore.MAX_QUEUE; i++) {
                            read.only().enqueue(alice.mutex(NAME), read.now(), read.epoch());
                        }
                        return true;
                    },
                    true);
        }
        RecordingListener listener = new RecordingListener();
        store.enqueue(alice.mutex(NAME), listener);
        assertThat(listener.outcome()).get().isInstanceOfSatisfying(RecordingListener.Event.Failed.class, failed -> {
            assertThat(failed.cause().effect()).isEqualTo(StoreException.Effect.NONE);
            assertThat(failed.cause().retryable()).isFalse();
        });
        assertThat(store.inspect(NAME)
                        .toCompletableFuture()
                        .join()
                        .orElseThrow()
                        .waiters())
                .hasSize(LockStore.MAX_QUEUE);
    }

    @Test
    void prefixIsTakenLiterally() {
        for (String name : List.of("a%b", "a_b", "axb", "a", "A", "a*", "b", "aé", "a\uD83D\uDD12", "a\uFFFD")) {
            granted(alice.mutex(new LockName(name)));
        }
        assertThat(list("a%")).containsExactly("a%b");
        assertThat(list("a_")).containsExactly("a_b");
        assertThat(list("A")).containsExactly("A");
        assertThat(list("a")).containsExactly("a", "a%b", "a*", "a_b", "axb", "aé", "a\uFFFD", "a\uD83D\uDD12");
        assertThat(list("zzz")).isEmpty();
        assertThat(store.list("a", 2).toCompletableFuture().join()).hasSize(2);
    }

    private List<String> list(String prefix) {
        return store.list(prefix, 100).toCompletableFuture().join().stream()
                .map(LockName::value)
                .toList();
    }

    private void pass(Duration duration, Claim kept) {
        for (long hours = 0; hours < duration.toHours(); hours += 12) {
            clock.advance(Duration.ofHours(12));
            renew(kept);
        }
    }

    private void renewOften(Claim claim) {
        for (int i = 0; i < 10; i++) {
            clock.advance(Duration.ofSeconds(11));
            renew(claim);
        }
    }

    private long granted(Claim claim) {
        return ((Granted) store.tryAcquire(claim).toCompletableFuture().join()).counter();
    }

    private void release(Claim claim) {
        store.release(claim).toCompletableFuture().join();
    }

    private void renew(Claim claim) {
        assertThat(store.renew(List.of(claim)).toCompletableFuture().join().get(0))
                .isInstanceOf(Granted.class);
    }

    private LockTable table() throws SQLException {
        SqliteDialect dialect = new SqliteDialect(clock, "boot", file.toString());
        SqliteFile source = new SqliteFile(file, Duration.ofSeconds(5), dialect);
        LockTable table = new LockTable(source.open(), dialect, Duration.ofSeconds(5), true, clock);
        dialect.start(table.statements());
        return table;
    }

    private int rows() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM holdfast_lock")) {
            return rows.next() ? rows.getInt(1) : 0;
        }
    }
}
