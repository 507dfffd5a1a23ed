package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.LockTable.Swept;
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

/**
 * What stays in the table, and for how long. The store's own cleaner has not begun when the rows are counted: {@code
 * IdleRowsTest} has it at work.
 */
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
        use(10);
        Claim kept = alice.mutex(new LockName("kept"));
        granted(kept);
        pass(Duration.ofDays(29), kept);
        // A row that has nothing but a tombstone is of no use when that is over.
        assertThat(removeAll()).as("rows that are removed after 29 days").isEqualTo(1);
        pass(Duration.ofDays(2), kept);
        assertThat(removeAll()).as("rows that are removed after 31 days").isEqualTo(11);
        assertThat(rows()).as("the one in use").isEqualTo(1);
        assertThat(granted(alice.mutex(NAME))).isGreaterThan(counter);
    }

    /** If the next one were taken from the clock alone, it could be smaller. */
    @Test
    void aCounterAheadOfTheClockIsKept() throws SQLException {
        clock.advance(Duration.ofDays(60));
        long counter = granted(alice.mutex(NAME));
        clock.stepWallClock(Duration.ofDays(-60));
        clock.advance(Duration.ofDays(45));
        assertThat(removeAll()).isZero();
        assertThat(granted(alice.mutex(NAME))).isGreaterThan(counter);
    }

    @Test
    void oneStepIsBoundedAndTheNextGoesOnThere() throws SQLException {
        use(10);
        clock.advance(Duration.ofDays(40));
        long keep = RowCodec.micros(Duration.ofDays(30));
        try (LockTable table = table()) {
            Swept first = table.removeIdle("", keep, 4);
            assertThat(first).isEqualTo(new Swept("n4", 4));
            assertThat(table.removeIdle("n9", keep, 4)).isEqualTo(new Swept("", 1));
            assertThat(table.removeIdle(first.next(), keep, 5)).isEqualTo(new Swept("", 5));
            assertThat(rows()).isZero();
        }
    }

    /** Its calls report it; the sweep must not end there each time. */
    @Test
    void aRowThatCannotBeReadIsLeftOut() throws SQLException {
        use(10);
        clock.advance(Duration.ofDays(40));
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE holdfast_lock SET more = 1, others = 'nonsense' WHERE name = 'n3'");
        }
        assertThat(removeAll()).isEqualTo(9);
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

    private void use(int locks) {
        for (int i = 0; i < locks; i++) {
            Claim claim = alice.mutex(new LockName("n" + i));
            granted(claim);
            release(claim);
        }
    }

    private int removeAll() throws SQLException {
        try (LockTable table = table()) {
            return table.removeIdle("", RowCodec.micros(Duration.ofDays(30)), 100)
                    .rows();
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
