package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.connection.StoreConnections;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.SQLiteDataSource;

/**
 * What stays in the table, and for how long. The store's own cleaner leaves all rows: {@code IdleRowsTest} has it at work.
 */
class IdleRowCleanerTest {

    private static final LockName NAME = new LockName("rare");
    private static final Duration LIMIT = Duration.ofSeconds(5);

    /** Longer than a connection is kept that nobody uses. */
    private static final Duration UNUSED = Duration.ofSeconds(20).plusNanos(1);

    @TempDir
    Path folder;

    private final ManualClock clock = new ManualClock(Seeds.of("idle rows"));
    private final Claimant alice = new Claimant("alice", Duration.ofHours(20));
    private Path file;
    private RowLockStore store;
    private CountingSource statements;
    private StoreConnections connections;
    private SerialConnection connection;
    private IdleRowCleaner cleaner;

    @BeforeEach
    void open() {
        file = folder.resolve("locks.db");
        StoreOptions options = new StoreOptions(
                Duration.ofDays(36_500),
                StoreOptions.DEFAULTS.busyTimeout(),
                StoreOptions.DEFAULTS.ticketTtl(),
                null,
                null);
        store = SqliteLockStoreProvider.open(file, options, clock, "boot");
        SqliteDialect dialect = new SqliteDialect(clock, "boot", file.toString());
        statements = new CountingSource(new SqliteFile(file, LIMIT, dialect));
        connections = new StoreConnections(statements, dialect, LIMIT, LIMIT, clock);
        connection = connections.another();
        connection.call(turn -> {
            dialect.start(turn.table().statements());
            return true;
        });
        cleaner = new IdleRowCleaner(connections, connection, Duration.ofDays(30), "cleaner");
    }

    @AfterEach
    void close() {
        cleaner.close();
        connections.close();
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

    /** It has no counter, so that nothing shows its age but its first version. Else it would be made anew with each wait. */
    @Test
    void rowOfAWaitSetStaysForAMinute() {
        Claim place = alice.waitSet(NAME);
        store.enqueue(place, new RecordingListener());
        release(place);
        assertThat(removeAll()).as("just left").isZero();
        clock.advance(Duration.ofMinutes(2));
        assertThat(removeAll()).as("later").isEqualTo(1);
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
        assertThat(cleaner.step(4)).isEqualTo(4);
        use(1); // before the place where the next step begins
        clock.advance(Duration.ofDays(40));
        assertThat(cleaner.step(4)).isEqualTo(4);
        assertThat(cleaner.step(4)).isEqualTo(2);
        assertThat(rows()).isEqualTo(1);
        assertThat(cleaner.step(4)).as("from the beginning").isEqualTo(1);
    }

    /** Otherwise the rows behind it would stay for ever. */
    @Test
    void pageThatAlwaysFailsIsPassed() throws SQLException {
        use(10);
        clock.advance(Duration.ofDays(40));
        AtomicBoolean fails = new AtomicBoolean(true);
        statements.before(sql -> {
            if (sql.startsWith("DELETE") && fails.getAndSet(false)) {
                throw new IllegalStateException("a driver's mistake");
            }
        });
        assertThatThrownBy(() -> cleaner.step(4)).hasMessageContaining("a driver's mistake");
        assertThat(cleaner.step(4)).isEqualTo(4);
        assertThat(cleaner.step(4)).isEqualTo(2);
        assertThat(rows()).isEqualTo(4);
    }

    @Test
    void whateverIsThrownDoesNotEndTheThread() {
        statements.before(sql -> {
            throw new IllegalStateException("a driver's mistake");
        });
        assertThat(Duration.ofNanos(cleaner.pauseAfterStep(1))).isEqualTo(Duration.ofSeconds(10));
        statements.before(sql -> {
            throw new OutOfMemoryError("by the test");
        });
        assertThat(Duration.ofNanos(cleaner.pauseAfterStep(1))).isEqualTo(Duration.ofSeconds(10));
    }

    /** Many clients that have just begun made more requests by this than for their locks. */
    @Test
    void whoSeesTheWholeTableAndFindsNothingComesBackLate() {
        use(10);
        assertThat(Duration.ofNanos(cleaner.pauseAfterStep(1))).isEqualTo(Duration.ofSeconds(10));
        clock.advance(Duration.ofDays(40));
        assertThat(Duration.ofNanos(cleaner.pauseAfterStep(1))).isEqualTo(Duration.ofMillis(50));
    }

    @Test
    void whoSeesAPartOfTheTableComesBackSoon() {
        use(IdleRowCleaner.STEP + 10);
        assertThat(cleaner.pauseAfterStep(800)).isEqualTo(900);
        assertThat(cleaner.pauseAfterStep(800)).as("after the rest").isEqualTo(900);
    }

    @Test
    void paceIsThatOfManySteps() {
        long pause = IdleRowCleaner.pause(1, 1);
        assertThat(Duration.ofNanos(pause)).isEqualTo(Duration.ofMillis(50));
        for (int step = 0; step < 8; step++) {
            pause = IdleRowCleaner.pause(pause, 0);
        }
        assertThat(Duration.ofNanos(pause)).as("after 8 pages without").isLessThan(Duration.ofMillis(150));
        for (int step = 0; step < 60; step++) {
            pause = IdleRowCleaner.pause(pause, 0);
        }
        assertThat(Duration.ofNanos(pause)).isEqualTo(Duration.ofSeconds(10));
    }

    /** Else a server would keep one for each thread that was busy once. The pool has no other connection. */
    @Test
    void connectionThatNobodyUsesGoesBackToThePool() throws SQLException {
        SQLiteDataSource database = new SQLiteDataSource();
        database.setUrl("jdbc:sqlite:" + file);
        SqliteDialect dialect = new SqliteDialect(clock, "boot", file.toString());
        ConnectionPool pool = new ConnectionPool(database, "SELECT 1", 1, "file", LIMIT, "test");
        try (StoreConnections all = new StoreConnections(pool, dialect, LIMIT, LIMIT, clock)) {
            all.another().call(turn -> turn.table().statements().dataVersion());
            IdleRowCleaner sweeping = new IdleRowCleaner(all, all.anotherForNow(), Duration.ofDays(30), "cleaner");
            clock.advance(UNUSED);
            sweeping.pauseAfterStep(1);
            try (Connection lent = pool.open()) {
                assertThat(lent.isValid(0)).isTrue();
            }
        }
    }

    @Test
    void rowWithANameThatNoLockCanHaveIsLeftOut() throws SQLException {
        use(10);
        clock.advance(Duration.ofDays(40));
        run("UPDATE holdfast_lock SET name = name || char(10) WHERE name = 'n3'");
        assertThat(removeAll()).isEqualTo(9);
        assertThat(list("")).isEmpty();
    }

    /** Its calls report it; the sweep must not end there each time. */
    @Test
    void aRowThatCannotBeReadIsLeftOut() throws SQLException {
        use(10);
        clock.advance(Duration.ofDays(40));
        run("UPDATE holdfast_lock SET more = 1, others = 'nonsense' WHERE name = 'n3'");
        assertThat(removeAll()).isEqualTo(9);
    }

    @Test
    void fullQueueRefusesOneMore() throws SQLException {
        Claim holder = alice.mutex(NAME);
        granted(holder);
        FullQueue.fill(
                connection,
                Stream.generate(() -> alice.mutex(NAME))
                        .limit(LockStore.MAX_QUEUE)
                        .toList());
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

    private int removeAll() {
        return cleaner.step(100);
    }

    private void run(String sql) throws SQLException {
        try (Connection user = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = user.createStatement()) {
            statement.executeUpdate(sql);
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

    private int rows() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM holdfast_lock")) {
            return rows.next() ? rows.getInt(1) : 0;
        }
    }
}
