package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.MonotonicClock;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The guard by comparison in a table of ours. */
class FenceAdvanceTest {

    private static final JdbcFence FENCE = JdbcFence.standard();

    @TempDir
    Path folder;

    private UserDatabase database(String product) throws SQLException {
        UserDatabase database = UserDatabase.open(product, folder);
        try (Connection connection = database.connect()) {
            FENCE.createTable(connection);
            FENCE.createTable(connection);
        }
        return database;
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void staleTokenIsRefused(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.begin()) {
            FENCE.advance(connection, "order:42", 34_000);
            FENCE.advance(connection, "order:42", 34_000);
            FENCE.advance(connection, "order:43", 1);
            connection.commit();
            assertThatThrownBy(() -> FENCE.advance(connection, "order:42", 33_999))
                    .isInstanceOfSatisfying(
                            LockLostException.class,
                            stale -> assertThat(stale.reason()).isEqualTo(LossReason.TAKEN))
                    .hasMessageContainingAll("order:42", "33999", "34000", "roll back", "requireLive");
            connection.rollback();
            FENCE.advance(connection, "order:42", 35_000);
            connection.rollback();
        }
        assertThat(database.number("SELECT MAX(token) FROM holdfast_fence")).isEqualTo(34_000);
        assertThat(database.number("SELECT COUNT(*) FROM holdfast_fence")).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void resourcesAreComparedByteByByte(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.begin()) {
            long token = 100;
            for (String name : List.of("a", "A", "a ", "ä", "a\u0308", "\uD83D\uDD12", "x".repeat(255))) {
                FENCE.advance(connection, name, token--);
            }
            connection.commit();
        }
        assertThat(database.number("SELECT COUNT(*) FROM holdfast_fence")).isEqualTo(7);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void theNextHolderWaitsForTheOpenTransaction(String product) throws Exception {
        UserDatabase database = database(product);
        for (String resource : List.of("new", "known")) {
            if (resource.equals("known")) {
                try (Connection connection = database.begin()) {
                    FENCE.advance(connection, resource, 1);
                    connection.commit();
                }
            }
            try (Connection first = database.begin();
                    Connection second = database.begin()) {
                FENCE.advance(first, resource, 33);
                CompletableFuture<Void> later = CompletableFuture.runAsync(() -> advance(second, resource, 34));
                assertThatThrownBy(() -> later.get(200, TimeUnit.MILLISECONDS)).isNotNull();
                first.commit();
                later.get(30, TimeUnit.SECONDS);
                second.commit();
                assertThatThrownBy(() -> FENCE.advance(first, resource, 33)).isInstanceOf(LockLostException.class);
            }
        }
    }

    /** With a new name each time, the table would grow for ever. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void rowsOfOldTokensAreRemoved(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.begin()) {
            for (int i = 0; i < 3; i++) {
                FENCE.advance(connection, "old ä " + i, tokenOf(Duration.ofHours(49)));
            }
            FENCE.advance(connection, "advanced", tokenOf(Duration.ofHours(49)));
            FENCE.advance(connection, "advanced", tokenOf(Duration.ZERO));
            FENCE.advance(connection, "young", tokenOf(Duration.ofHours(47)));
            FENCE.advance(connection, "a ZooKeeper's", 500_000_000_000L << 10);
            connection.commit();
        }
        try (Connection connection = database.connect()) {
            assertThat(FENCE.removeOlderThan(connection, Duration.ofDays(2))).isEqualTo(3);
            assertThat(FENCE.removeOlderThan(connection, Duration.ofDays(2))).isZero();
        }
        assertThat(database.number("SELECT COUNT(*) FROM holdfast_fence")).isEqualTo(3);
        try (Connection connection = database.begin()) {
            assertThatThrownBy(() -> FENCE.advance(connection, "young", tokenOf(Duration.ofHours(48))))
                    .isInstanceOf(LockLostException.class);
            connection.rollback();
            assertThat(FENCE.removeOlderThan(connection, Duration.ofDays(1)))
                    .as("in a transaction that is rolled back")
                    .isEqualTo(1);
            connection.rollback();
        }
        assertThat(database.number("SELECT COUNT(*) FROM holdfast_fence")).isEqualTo(3);
    }

    private static long tokenOf(Duration age) {
        return MonotonicClock.SYSTEM.epochMicros() - TimeUnit.SECONDS.toMicros(age.toSeconds()) << 10;
    }

    @Test
    void rowsAreRemovedAThousandWithEachCall() throws SQLException {
        UserDatabase database = database("h2");
        try (Connection connection = database.begin()) {
            for (int i = 0; i < 1_001; i++) {
                FENCE.advance(connection, "old-" + i, tokenOf(Duration.ofDays(3)));
            }
            assertThat(FENCE.removeOlderThan(connection, Duration.ofDays(2))).isEqualTo(1_000);
            assertThat(FENCE.removeOlderThan(connection, Duration.ofDays(2))).isEqualTo(1);
            connection.commit();
        }
    }

    /** The age in the bits of a token has more of them than a long. */
    @Test
    void anAgeOfCenturiesRemovesNothing() throws SQLException {
        UserDatabase database = database("h2");
        try (Connection connection = database.begin()) {
            FENCE.advance(connection, "young", tokenOf(Duration.ZERO));
            for (Duration age : List.of(Duration.ofDays(365 * 350), Duration.ofSeconds(Long.MAX_VALUE))) {
                assertThat(FENCE.removeOlderThan(connection, age)).as("%s", age).isZero();
            }
            connection.commit();
        }
    }

    @Test
    void rowsThatAFrozenHolderMayMeetAreNotRemoved() throws SQLException {
        UserDatabase database = database("h2");
        try (Connection connection = database.connect()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> FENCE.removeOlderThan(connection, Duration.ofHours(23)))
                    .withMessageContaining("PT24H");
        }
    }

    @Test
    void anotherDatabaseIsServedByStandardSql() throws SQLException {
        UserDatabase database = database("postgresql");
        database.run(
                "DROP TABLE holdfast_fence",
                "CREATE TABLE holdfast_fence (name VARCHAR(255) PRIMARY KEY, token BIGINT)");
        try (Connection connection = unknown(database.begin());
                Connection other = unknown(database.begin())) {
            FENCE.advance(connection, "a", 10);
            // It finds no row, wants to insert it, waits, fails at that, and looks again.
            CompletableFuture<Void> later = CompletableFuture.runAsync(() -> advance(other, "a", 11));
            assertThatThrownBy(() -> later.get(200, TimeUnit.MILLISECONDS)).isNotNull();
            connection.commit();
            later.get(30, TimeUnit.SECONDS);
            other.commit();
            assertThatThrownBy(() -> FENCE.advance(connection, "a", 10)).isInstanceOf(LockLostException.class);
            connection.rollback();
            FENCE.advance(connection, "a", 12);
            connection.commit();
            assertThatThrownBy(() -> FENCE.requireLive(connection, "a", 12))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContainingAll("Unheard Of", "advance", "JdbcFence.clock");
        } catch (java.util.concurrent.ExecutionException
                | InterruptedException
                | java.util.concurrent.TimeoutException failure) {
            throw new AssertionError(failure);
        }
        assertThat(database.number("SELECT token FROM holdfast_fence")).isEqualTo(12);
    }

    @Test
    void tokensOfAnyStoreWillDo() throws Exception {
        UserDatabase database = database("h2");
        try (MemoryLockStore store = new MemoryLockStore(MonotonicClock.SYSTEM);
                Holdfast locks = Holdfast.over(store);
                Connection connection = database.begin()) {
            DistributedLock lock = locks.lock("job");
            long first;
            try (Lease lease = lock.acquire()) {
                FENCE.advance(connection, lease);
                first = lease.token();
            }
            try (Lease lease = locks.multiLock("job", "other").acquire()) {
                FENCE.advance(connection, lease);
            }
            assertThatThrownBy(() -> FENCE.advance(connection, "job", first)).isInstanceOf(LockLostException.class);
            Lease released = lock.acquire();
            released.release();
            assertThatIllegalStateException().isThrownBy(() -> FENCE.advance(connection, released));
        }
    }

    /** Two readers hold at once, and their tokens have no order that means anything. */
    @Test
    void sharedTokensAreRefusedRatherThanLetIn() throws Exception {
        UserDatabase database = database("h2");
        try (MemoryLockStore store = new MemoryLockStore(MonotonicClock.SYSTEM);
                Holdfast locks = Holdfast.over(store);
                Connection connection = database.begin();
                Lease one = locks.semaphore("pool", 2).acquire();
                Lease two = locks.semaphore("pool", 2).acquire()) {
            FENCE.advance(connection, two);
            assertThatThrownBy(() -> FENCE.advance(connection, one))
                    .isInstanceOf(LockLostException.class)
                    .hasMessageContainingAll("shared grants", "requireLive");
        }
    }

    @Test
    void whatIsWrongIsSaid() throws SQLException {
        UserDatabase database = database("h2");
        try (Connection connection = database.connect()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> FENCE.advance(connection, "a", 1))
                    .withMessageContainingAll("autocommit", "setAutoCommit(false)");
            connection.setAutoCommit(false);
            assertThatIllegalStateException()
                    .isThrownBy(() -> FENCE.createTable(connection))
                    .withMessageContaining("autocommit");
            assertThatIllegalArgumentException().isThrownBy(() -> FENCE.advance(connection, "a", 0));
            assertThatIllegalArgumentException().isThrownBy(() -> FENCE.advance(connection, "", 1));
            assertThatIllegalArgumentException().isThrownBy(() -> FENCE.advance(connection, "a\nb", 1));
            assertThatIllegalArgumentException().isThrownBy(() -> FENCE.advance(connection, "x".repeat(256), 1));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void aMissingTableIsSaidToBeMissing(String product) throws SQLException {
        UserDatabase database = UserDatabase.open(product, folder);
        try (Connection connection = database.begin()) {
            assertThatThrownBy(() -> FENCE.advance(connection, "a", 1))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("JdbcFence.createTable");
        }
    }

    @Test
    void tablesMayBeInAnotherSchema() throws SQLException {
        UserDatabase database = UserDatabase.open("postgresql", folder);
        database.run("CREATE SCHEMA IF NOT EXISTS locks");
        JdbcFence fence = FENCE.schema("locks");
        try (Connection connection = database.connect()) {
            fence.createTable(connection);
            connection.setAutoCommit(false);
            fence.advance(connection, "a", 5);
            connection.commit();
        }
        assertThat(database.number("SELECT token FROM locks.holdfast_fence")).isEqualTo(5);
    }

    /** Whatever the order in which they come, the committed transactions of one resource are in the order of their tokens. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void committedTokensOnlyGrow(String product) throws Exception {
        UserDatabase database = database(product);
        database.run("CREATE TABLE done (at INTEGER PRIMARY KEY, token BIGINT)", "INSERT INTO done VALUES (0, 0)");
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (int thread = 0; thread < 6; thread++) {
            int first = thread;
            running.add(CompletableFuture.runAsync(() -> {
                for (int token = 1 + first; token <= 120; token += 6) {
                    appendUnlessStale(database, token);
                }
            }));
        }
        for (CompletableFuture<Void> one : running) {
            one.get(50, TimeUnit.SECONDS);
        }
        assertThat(database.number(
                        "SELECT COUNT(*) FROM done a JOIN done b ON b.at = a.at + 1 WHERE b.token <= a.token"))
                .isZero();
        assertThat(database.number("SELECT COUNT(*) FROM done")).isGreaterThan(1);
    }

    private static void appendUnlessStale(UserDatabase database, int token) {
        for (int attempt = 1; ; attempt++) {
            try (Connection connection = database.begin()) {
                FENCE.advance(connection, "log", token);
                connection
                        .createStatement()
                        .executeUpdate("INSERT INTO done SELECT MAX(at) + 1, " + token + " FROM done");
                connection.commit();
                return;
            } catch (LockLostException stale) {
                return;
            } catch (SQLException failure) {
                if (attempt == 50) {
                    throw new AssertionError(failure);
                }
            }
        }
    }

    private static void advance(Connection connection, String resource, long token) {
        try {
            FENCE.advance(connection, resource, token);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    /** The same connection, but as if it led to an unknown database. */
    static Connection unknown(Connection connection) {
        InvocationHandler metaData =
                (proxy, method, arguments) -> method.getName().equals("getDatabaseProductName")
                        ? "Unheard Of"
                        : method.invoke(connection.getMetaData(), arguments);
        Object metadata = Proxy.newProxyInstance(
                FenceAdvanceTest.class.getClassLoader(), new Class<?>[] {DatabaseMetaData.class}, metaData);
        InvocationHandler handler = (proxy, method, arguments) -> {
            try {
                return method.getName().equals("getMetaData") ? metadata : method.invoke(connection, arguments);
            } catch (java.lang.reflect.InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        };
        return (Connection) Proxy.newProxyInstance(
                FenceAdvanceTest.class.getClassLoader(), new Class<?>[] {Connection.class}, handler);
    }
}
