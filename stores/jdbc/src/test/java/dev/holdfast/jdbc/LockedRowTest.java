package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A user's transaction holds the row of a lock, as one does that asserts in its midst that its lease is live. It costs no other
 * lock anything, and its own lock is taken over by nobody until it ends.
 */
class LockedRowTest extends Servers {

    private static final int OTHERS = 1_000;

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void leasesOfOtherLocksAreRenewedMeanwhile(String product) throws SQLException {
        String url = url(product);
        LockStore store = open(url);
        Duration lease = Duration.ofSeconds(2);
        Claim guarded = alice.mutex(new LockName("guarded")).withLease(lease);
        List<Claim> all = new ArrayList<>(List.of(guarded));
        for (int i = 0; i < OTHERS; i++) {
            Claim claim = alice.mutex(new LockName("other-" + i)).withLease(LONG);
            granted(store, claim);
            all.add(claim);
        }
        granted(store, guarded);
        long granted = System.nanoTime();
        try (Connection user = connect(url)) {
            lock(user, guarded);
            for (int round = 0; System.nanoTime() - granted < lease.toNanos() || round < 2; round++) {
                // The transaction does not end while this waits for it: whatever waited for that would fail.
                List<Renewed> answers = get(store.renew(all));
                assertThat(answers.subList(1, all.size()))
                        .as("renewal %d", round)
                        .allMatch(Granted.class::isInstance);
                // MySQL says what is left.
                assertThat(answers.get(0))
                        .satisfiesAnyOf(
                                answer -> assertThat(answer).isInstanceOf(Renewed.Failed.class),
                                answer -> assertThat(((Granted) answer).lease()).isLessThan(lease));
            }
            // Its lease is over by now, but nobody has it while the transaction lasts.
            assertThat(get(store.tryAcquire(bob.mutex(guarded.name())))).isInstanceOf(Attempt.Busy.class);
            user.commit();
        }
        granted(store, bob.mutex(guarded.name()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void nothingWaitsForTheTransaction(String product) throws SQLException {
        String url = url(product);
        // As long as this, a call would wait that waits for as long as it may.
        Duration timeout = Duration.ofSeconds(60);
        LockStore store = open(url + "&holdfast.busyTimeout=" + timeout);
        Claim guarded = alice.mutex(new LockName("guarded"));
        Claim other = alice.mutex(new LockName("other"));
        granted(store, guarded);
        granted(store, other);
        try (Connection user = connect(url)) {
            lock(user, guarded);
            long start = System.nanoTime();
            assertThat(get(store.tryAcquire(bob.mutex(guarded.name())))).isInstanceOf(Attempt.Busy.class);
            assertThat(get(store.tryAcquireAll(List.of(bob.mutex(guarded.name()), bob.mutex(new LockName("third"))))))
                    .noneMatch(Granted.class::isInstance);
            assertThat(failure(store.release(guarded)).effect()).isEqualTo(Effect.NONE);
            RecordingListener listener = new RecordingListener();
            store.enqueue(bob.mutex(guarded.name()), listener);
            awaitUntil(listener::wasNotified);
            assertThat(listener.first(RecordingListener.Event.Failed.class)
                            .orElseThrow()
                            .cause())
                    .hasMessageContaining("guarded")
                    .hasMessageContaining("another client's transaction");
            assertThat(get(store.release(other)).wasOwner()).isTrue();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(timeout.dividedBy(2));
            user.commit();
        }
        assertThat(get(store.release(guarded)).wasOwner()).isTrue();
    }

    /** A second wait for the same row would be at the cost of the other names on the connection. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void lockedRowIsWaitedForOnce(String product) throws SQLException {
        DatabaseUrl url = DatabaseUrl.of(url(product));
        Dialect dialect = url.dialect(ServerOptions.DEFAULTS, true);
        Duration timeout = Duration.ofSeconds(5);
        CountingSource statements = new CountingSource(new ConnectionPool(
                url,
                url.properties(timeout, timeout, true),
                ServerOptions.DEFAULTS.all(false),
                timeout,
                timeout,
                "test"));
        StoreWiring wiring = ServerStoreFactory.wiring(WaiterNotifier.NONE, ServerOptions.DEFAULTS, timeout, true);
        LockStore store = closing(
                ServerStoreFactory.open(dialect, statements, ServerOptions.DEFAULTS, wiring, MonotonicClock.SYSTEM));
        Claim guarded = alice.mutex(name);
        granted(store, guarded);
        try (Connection user = connect(url.url())) {
            lock(user, guarded);
            assertThat(failure(store.release(guarded))).hasMessageContaining("another client's transaction");
            statements.take();
            assertThat(failure(store.release(guarded))).hasMessageContaining("another client's transaction");
            // The short release, and twice a read and a write, which show that the row is locked and not changed.
            assertThat(statements.take()).hasSizeLessThanOrEqualTo(5);
            user.commit();
        }
        assertThat(get(store.release(guarded)).wasOwner()).isTrue();
    }

    /** What the user's URL sets takes the place of our own limit of the wait. */
    @Test
    void lockedRowIsNotWaitedForWhereTheUserSetsTheSessions() throws SQLException {
        String url = url("mariadb");
        LockStore store = open(url + "&sessionVariables=innodb_lock_wait_timeout=50");
        Claim guarded = alice.mutex(name);
        granted(store, guarded);
        try (Connection user = connect(url)) {
            lock(user, guarded);
            assertThat(get(store.tryAcquire(bob.mutex(name)))).isInstanceOf(Attempt.Busy.class);
            assertThat(failure(store.release(guarded)).effect()).isEqualTo(Effect.NONE);
            user.commit();
        }
        assertThat(get(store.release(guarded)).wasOwner()).isTrue();
    }

    /** What is inserted is not there for others yet, and nobody else can insert it. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void rowThatATransactionInsertsIsNotWaitedFor(String product) throws SQLException {
        String url = url(product);
        LockStore store = open(url);
        granted(store, alice.mutex(new LockName("first")));
        Claim claim = bob.mutex(new LockName("second"));
        long before = product.equals("mariadb") ? waitedMillis(url) : 0;
        isRefusedWhileAnotherInserts(url, store, claim);
        if (product.equals("mariadb")) {
            assertThat(waitedMillis(url) - before)
                    .as("milliseconds in which the server let us wait for the row")
                    .isLessThan(100);
        }
        granted(store, claim.again());
    }

    /** There is a row named first, and the other transaction inserts a copy of it under the name of the claim. */
    private static void isRefusedWhileAnotherInserts(String url, LockStore store, Claim claim) throws SQLException {
        try (Connection user = connect(url);
                Statement statement = user.createStatement()) {
            user.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO holdfast_lock SELECT '" + claim.name()
                    + "', version, counter, clock, holder, held, permits, capacity, since, expires, owner, more, others"
                    + " FROM holdfast_lock WHERE name = 'first'");
            assertThat(get(store.tryAcquire(claim))).isInstanceOf(Attempt.Busy.class);
            RecordingListener listener = new RecordingListener();
            store.enqueue(claim.again(), listener);
            StoreException failure = failure(listener);
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure).hasMessageContaining("another client's transaction");
            user.rollback();
        }
    }

    private static long waitedMillis(String url) throws SQLException {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet status = statement.executeQuery("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_time'")) {
            status.next();
            return status.getLong(2);
        }
    }

    /** The sessions of a pool of the user's wait for locked rows for as long as he wants; ours do not, and he gets his back. */
    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void rowThatATransactionInsertsIsNotWaitedForInAPoolOfTheUsers(String product) throws SQLException {
        String url = url(product);
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(8);
        HikariDataSource pool = closing(new HikariDataSource(config));
        LockStore store = closing(JdbcLockStore.over(pool));
        granted(store, alice.mutex(new LockName("first")));
        assertThat(get(store.tryAcquireAll(List.of(alice.mutex(new LockName("x")), alice.mutex(new LockName("y"))))))
                .hasSize(2)
                .allMatch(Granted.class::isInstance);
        Claim claim = bob.mutex(new LockName("second"));
        isRefusedWhileAnotherInserts(url, store, claim);
        granted(store, claim.again());
        String usual;
        try (Connection user = connect(url)) {
            usual = limits(user);
        }
        store.close();
        List<Connection> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add(closing(pool.getConnection()));
        }
        for (Connection one : all) {
            assertThat(limits(one)).isEqualTo(usual);
        }
    }

    private static String limits(Connection user) throws SQLException {
        try (Statement statement = user.createStatement();
                ResultSet settings = statement.executeQuery(
                        "SELECT CONCAT(@@SESSION.wait_timeout, ' ', @@SESSION.innodb_lock_wait_timeout)")) {
            settings.next();
            return settings.getString(1);
        }
    }

    private static void lock(Connection user, Claim claim) throws SQLException {
        user.setAutoCommit(false);
        try (Statement statement = user.createStatement()) {
            String product = user.getMetaData().getDatabaseProductName();
            String share = product.equals("PostgreSQL")
                    ? " FOR SHARE"
                    : product.equals("H2") ? " FOR UPDATE" : " LOCK IN SHARE MODE";
            statement
                    .executeQuery("SELECT 1 FROM holdfast_lock WHERE holder = '" + claim.id() + "'"
                            + byName(product, claim) + share)
                    .close();
        }
    }

    private static String byName(String product, Claim claim) {
        return product.equals("H2") ? "" : " AND name = '" + claim.name() + "'";
    }
}
