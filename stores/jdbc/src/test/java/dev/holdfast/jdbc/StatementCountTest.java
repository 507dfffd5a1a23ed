package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.SignalCost;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The budget: one statement to acquire what is free, one to release it, one to renew all that a client holds. */
class StatementCountTest {

    @TempDir
    Path folder;

    /** Nobody refreshes the tickets of those who wait. */
    private static final String LONG_TICKETS = "ticketTtl=10m";

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(10));
    private CountingSource statements;
    private RowLockStore store;

    private void open(String product) {
        if (product.equals("sqlite")) {
            SqliteDialect dialect = sqlite();
            statements = new CountingSource(file(dialect));
            StoreOptions options = ServerOptions.parse(LONG_TICKETS).store();
            store = SqliteLockStoreProvider.open(dialect, statements, options, MonotonicClock.SYSTEM);
        } else if (product.equals("h2")) {
            H2Dialect dialect = new H2Dialect("h2");
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:" + folder.getFileName());
            statements = new CountingSource(
                    new ConnectionPool(database, H2Dialect.PREPARES, 7, "h2", Duration.ofSeconds(5), "test"));
            store = H2StoreFactory.open(dialect, statements, ServerOptions.parse(LONG_TICKETS), MonotonicClock.SYSTEM);
        } else {
            DatabaseUrl url = DatabaseUrl.of(Servers.url(product));
            ServerOptions options = ServerOptions.parse(LONG_TICKETS);
            Dialect dialect = url.dialect(options, true);
            Duration timeout = Duration.ofSeconds(5);
            statements = new CountingSource(
                    new ConnectionPool(url, url.properties(timeout, timeout, true), 7, timeout, timeout, "test"));
            StoreWiring wiring = ServerStoreFactory.wiring(WaiterNotifier.NONE, options, timeout, true);
            store = ServerStoreFactory.open(dialect, statements, options, wiring, MonotonicClock.SYSTEM);
        }
        statements.take();
    }

    private SqliteDialect sqlite() {
        return new SqliteDialect(MonotonicClock.SYSTEM, "boot", "locks.db");
    }

    private SqliteFile file(SqliteDialect dialect) {
        return new SqliteFile(folder.resolve("locks.db"), Duration.ofSeconds(5), dialect);
    }

    @AfterEach
    void close() {
        store.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void acquireAndReleaseOfAFreeLockAreOneStatementEach(String product) {
        open(product);
        for (int again = 0; again < 3; again++) {
            Claim claim = held("free");
            assertThat(statements.take()).as("acquire").hasSize(1);
            assertThat(store.release(claim).toCompletableFuture().join()).isEqualTo(Released.ALONE);
            assertThat(statements.take()).as("release").hasSize(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void enqueueOnAFreeLockIsOneStatement(String product) {
        open(product);
        RecordingListener listener = new RecordingListener();
        store.enqueue(alice.mutex(new LockName("free")), listener);
        while (!listener.wasNotified()) {
            Thread.onSpinWait();
        }
        assertThat(listener.outcome()).get().isInstanceOf(RecordingListener.Event.Granted.class);
        assertThat(statements.take()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void renewalOfAllIsOneStatement(String product) {
        open(product);
        List<Claim> all = new ArrayList<>();
        for (int i = 0; i < LockTable.MAX_BATCH; i++) {
            all.add(held("many-" + i));
        }
        statements.take();
        assertThat(renew(all)).hasSize(all.size()).allMatch(Granted.class::isInstance);
        assertThat(statements.take()).hasSize(1);
        all.add(held("one-more"));
        statements.take();
        assertThat(renew(all)).hasSize(all.size()).allMatch(Granted.class::isInstance);
        assertThat(statements.take()).hasSize(2);
    }

    /** They share a row, which is read and written once for all of them. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void renewalOfAllReadersOfANameIsAReadAndAWrite(String product) {
        open(product);
        List<Claim> readers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            readers.add(held(alice.read(new LockName("shared"))));
        }
        statements.take();
        assertThat(renew(readers)).hasSize(readers.size()).allMatch(Granted.class::isInstance);
        assertThat(statements.take()).hasSize(2);
    }

    /** Each name has a row of its own. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void renewalOfWaitersAndHoldersIsAReadAndAWriteForEachName(String product) {
        open(product);
        List<Claim> all = new ArrayList<>();
        List<Claim> waiting = new ArrayList<>();
        for (String name : List.of("one", "two")) {
            all.add(held(name));
            for (int i = 0; i < 10; i++) {
                waiting.add(alice.mutex(new LockName(name)));
            }
        }
        waiting.forEach(claim -> Servers.waiting(store, claim));
        all.addAll(waiting);
        statements.take();
        List<Renewed> answers = renew(all);
        assertThat(answers.subList(0, 2)).allMatch(Granted.class::isInstance);
        assertThat(answers.subList(2, all.size())).allMatch(Renewed.Waiting.class::isInstance);
        assertThat(statements.take()).hasSize(4);
    }

    /** The waiters use the same store, so that what they do about a signal to another is counted, too. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void signalIsALookAndAReleaseWhateverTheCrowd(String product) {
        open(product);
        // A look is a read, and the release of a waiter a read and a write. SQLite looks at the number of commits
        // instead of the row, if no other process has written meanwhile.
        int release = 2;
        SignalCost<List<String>> cost = new SignalCost<>(store, store, statements::take, statements::take);
        List<String> few = cost.ofSignals("few", SignalCost.FEW);
        assertThat(few).hasSize(SignalCost.SIGNALS * (1 + release));
        assertThat(cost.ofSignals("many", SignalCost.MANY)).isEqualTo(few);
        assertThat(cost.ofSignalAll("all", SignalCost.MANY)).hasSize(1 + SignalCost.MANY * release);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void refusalIsTwoStatementsAndWritesNothing(String product) {
        open(product);
        held("busy");
        statements.take();
        for (int again = 0; again < 3; again++) {
            Claim other = alice.mutex(new LockName("busy"));
            assertThat(store.tryAcquire(other).toCompletableFuture().join()).isInstanceOf(Attempt.Busy.class);
            assertThat(statements.take()).hasSize(2);
        }
    }

    /** H2 cannot skip a locked row in the statement that renews; the other claims must be renewed nevertheless. */
    @Test
    void aLockedRowCostsRenewalsAFewStatementsInH2() throws SQLException {
        open("h2");
        List<Claim> all = new ArrayList<>();
        for (int i = 0; i < LockTable.MAX_BATCH; i++) {
            all.add(held("many-" + i));
        }
        statements.take();
        try (Connection user = DriverManager.getConnection("jdbc:h2:mem:" + folder.getFileName());
                Statement statement = user.createStatement()) {
            user.setAutoCommit(false);
            statement
                    .executeQuery("SELECT 1 FROM holdfast_lock WHERE holder = '"
                            + all.get(7).id() + "' FOR UPDATE")
                    .close();
            List<Renewed> answers = renew(all);
            assertThat(answers.get(7)).isInstanceOf(Renewed.Failed.class);
            assertThat(answers).filteredOn(Granted.class::isInstance).hasSize(all.size() - 1);
            // The one that failed, the rows that are free, their renewal, and the locked one: read and not written.
            assertThat(statements.take()).hasSize(5);
            user.rollback();
        }
        assertThat(renew(all)).allMatch(Granted.class::isInstance);
        assertThat(statements.take()).hasSize(1);
    }

    /**
     * Nothing of this program runs between BEGIN and COMMIT unless it must: in a cold JVM on a busy machine that took
     * most of a second, for which all other processes wait.
     */
    @Test
    void sqliteIsLockedForStatementsOnly() {
        open("sqlite");
        granted(store, alice.read(new LockName("shared")));
        statements.take();
        granted(store, alice.read(new LockName("shared")));
        assertThat(commands()).containsExactly("INSERT", "SELECT", "SELECT", "UPDATE");
        assertThat(tryBoth("a", "b")).allMatch(Granted.class::isInstance);
        assertThat(commands()).containsExactly("SELECT", "BEGIN", "INSERT", "INSERT", "COMMIT");
    }

    /** A client that loses a race by that keeps all others out at its second try, and so does not lose again. */
    @Test
    void sqliteIsLockedFromTheReadOnAfterALostRace() {
        open("sqlite");
        granted(store, alice.read(new LockName("shared")));
        Claim further = alice.read(new LockName("shared"));
        Claimant bob = new Claimant("bob", Duration.ofMinutes(1));
        statements.take();
        SqliteDialect dialect = sqlite();
        try (LockStore other =
                SqliteLockStoreProvider.open(dialect, file(dialect), StoreOptions.DEFAULTS, MonotonicClock.SYSTEM)) {
            beforeNext("UPDATE", () -> granted(other, bob.read(new LockName("shared"))));
            granted(store, further);
            assertThat(commands())
                    .containsExactly("INSERT", "SELECT", "SELECT", "UPDATE", "BEGIN", "SELECT", "UPDATE", "COMMIT");

            beforeNext("BEGIN", () -> granted(other, bob.mutex(new LockName("b"))));
            assertThat(tryBoth("a", "b")).singleElement().isInstanceOf(Attempt.Busy.class);
            assertThat(commands())
                    .startsWith("SELECT", "BEGIN", "INSERT", "INSERT", "ROLLBACK", "BEGIN", "SELECT", "ROLLBACK");
        }
    }

    /** That somebody else has one of them says nothing about the connection: to open another one takes longer than the attempt. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void busyAttemptAtSeveralKeepsItsConnection(String product) {
        open(product);
        granted(store, new Claimant("bob", Duration.ofMinutes(1)).mutex(new LockName("b")));
        for (int again = 0; again < 3; again++) {
            assertThat(tryBoth("a", "b")).singleElement().isInstanceOf(Attempt.Busy.class);
        }
        assertThat(statements.discarded()).isZero();
    }

    /** Whatever comes after the commit, the names are taken, and nobody gets a session with our settings. */
    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void failureAfterACommitIsNoneOfTheCall(String product) {
        open(product);
        beforeNext("SET SESSION wait_timeout", () -> sneak(new SQLException("Connection reset", "08S01")));
        assertThat(tryBoth("a", "b")).hasSize(2).allMatch(Granted.class::isInstance);
        assertThat(statements.discarded()).isEqualTo(1);
        assertThat(tryBoth("c", "d")).hasSize(2).allMatch(Granted.class::isInstance);
        assertThat(statements.discarded()).isEqualTo(1);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Exception> void sneak(Exception failure) throws E {
        throw (E) failure;
    }

    /** Another client comes first, just before the next such statement. */
    private void beforeNext(String command, Runnable action) {
        AtomicBoolean done = new AtomicBoolean();
        statements.before(sql -> {
            if (sql.startsWith(command) && done.compareAndSet(false, true)) {
                action.run();
            }
        });
    }

    /** The first words of the statements since the last call. */
    private List<String> commands() {
        return statements.take().stream()
                .map(sql -> sql.strip().split("\\s", 2)[0])
                .toList();
    }

    private List<Attempt> tryBoth(String one, String another) {
        List<Claim> both = List.of(alice.mutex(new LockName(one)), alice.mutex(new LockName(another)));
        return store.tryAcquireAll(both).toCompletableFuture().join();
    }

    private static void granted(LockStore store, Claim claim) {
        assertThat(store.tryAcquire(claim).toCompletableFuture().join()).isInstanceOf(Granted.class);
    }

    /** It may look at millions of rows. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "mariadb"})
    void noCallAboutALockWaitsForAList(String product) throws InterruptedException {
        open(product);
        CountDownLatch listing = new CountDownLatch(1);
        CompletableFuture<Boolean> rest = new CompletableFuture<>();
        statements.before(sql -> {
            if (sql.contains("ORDER BY name")) {
                listing.countDown();
                rest.join();
            }
        });
        CompletableFuture<List<LockName>> list = CompletableFuture.supplyAsync(
                () -> store.list("", 100).toCompletableFuture().join());
        listing.await();
        try {
            List<Claim> claims =
                    IntStream.range(0, 10).mapToObj(i -> held("n" + i)).toList();
            assertThat(renew(claims)).allMatch(Granted.class::isInstance);
            assertThat(list).isNotDone();
        } finally {
            rest.complete(true);
        }
        assertThat(list.join()).hasSize(10);
    }

    /** Each statement looks at ten thousand rows at most, however many are idle. */
    @Test
    void aListTakesTwoStatementsForEachTenThousandRows() throws SQLException {
        open("sqlite");
        Claim claim = held("z");
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("locks.db"));
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)"
                    + " INSERT INTO holdfast_lock SELECT 'i' || i, version, counter, clock, '-', 0, 0, 0, 0, "
                    + LockRow.NEVER + ", '-', 0, '-' FROM n, holdfast_lock");
        }
        statements.take();
        assertThat(store.list("", 100).toCompletableFuture().join()).containsExactly(claim.name());
        assertThat(statements.take()).hasSize(6);
        assertThat(store.list("y", 100).toCompletableFuture().join()).isEmpty();
        assertThat(statements.take()).hasSize(2);
    }

    private Claim held(String name) {
        return held(alice.mutex(new LockName(name)));
    }

    private Claim held(Claim claim) {
        assertThat(store.tryAcquire(claim).toCompletableFuture().join()).isInstanceOf(Granted.class);
        return claim;
    }

    private List<Renewed> renew(List<Claim> claims) {
        return store.renew(claims).toCompletableFuture().join();
    }
}
