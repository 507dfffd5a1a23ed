package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.fence.jdbc.VersionedTable.Change;
import dev.holdfast.fence.jdbc.VersionedTable.Outcome;
import dev.holdfast.spi.MonotonicClock;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes of rows without a lock. No pause takes time here: the clock only notes it. */
class OptimisticUpdateTest {

    private static final VersionedTable STOCK = VersionedTable.of("stock", "id").byVersion("version");
    private static final VersionedTable BY_VALUE =
            VersionedTable.of("stock", "id").byValue("num");

    private static final Change TAKE_ONE = now -> Map.of("num", now.getInt("num") - 1);

    @TempDir
    Path folder;

    private final NotedTime time = new NotedTime();

    private UserDatabase database(String product) throws SQLException {
        UserDatabase database = UserDatabase.open(product, folder);
        database.run(
                "CREATE TABLE stock (id INTEGER PRIMARY KEY, num INTEGER, note VARCHAR(20), version BIGINT NOT NULL)",
                "INSERT INTO stock VALUES (1, 10, 'a', 0)",
                "INSERT INTO stock VALUES (2, 10, 'b', 0)",
                "CREATE TABLE sale (id INTEGER PRIMARY KEY)");
        return database;
    }

    private OptimisticUpdate over(UserDatabase database) throws SQLException {
        return OptimisticUpdate.over(database.source()).clock(time);
    }

    /** A change that another writer overtakes at its first calls. */
    private static Change overtaken(UserDatabase database, int times, Change change) {
        AtomicInteger calls = new AtomicInteger();
        return now -> {
            if (calls.getAndIncrement() < times) {
                try {
                    database.run("UPDATE stock SET num = num - 1, version = version + 1 WHERE id = 1");
                } catch (SQLException failure) {
                    throw new AssertionError(failure);
                }
            }
            return change.of(now);
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void anOvertakenUpdateStartsAgain(String product) throws SQLException {
        UserDatabase database = database(product);
        for (VersionedTable table : new VersionedTable[] {STOCK, BY_VALUE}) {
            long before = database.number("SELECT num FROM stock WHERE id = 1");
            assertThat(over(database).update(table.row(1), overtaken(database, 3, TAKE_ONE)))
                    .isTrue();
            assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(before - 4);
        }
        assertThat(time.pauses).isEqualTo(6);
        assertThat(database.number("SELECT version FROM stock WHERE id = 1")).isEqualTo(7);
        assertThat(database.number("SELECT num FROM stock WHERE id = 2")).isEqualTo(10);
    }

    @Test
    void itGivesUpWithAClearError() throws SQLException {
        UserDatabase database = database("h2");
        Change hopeless = overtaken(database, Integer.MAX_VALUE, TAKE_ONE);
        assertThatExceptionOfType(UpdateConflictException.class)
                .isThrownBy(() -> over(database).attempts(7).update(STOCK.row(1), hopeless))
                .withMessageContainingAll("row id = 1 of table stock", "7 attempts", "Nothing was written", "lock")
                .satisfies(gaveUp -> assertThat(gaveUp.attempts()).isEqualTo(7));
        assertThat(time.pauses).isEqualTo(6);
        assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(3);
        assertThatThrownBy(() -> over(database)
                        .within(Duration.ofMillis(20))
                        .attempts(Integer.MAX_VALUE)
                        .update(STOCK.row(1), hopeless))
                .isInstanceOf(UpdateConflictException.class);
        assertThat(time.noted)
                .isBetween(
                        Duration.ofMillis(20).toNanos(), Duration.ofMillis(120).toNanos());
        assertThatThrownBy(() -> over(database).within(Duration.ZERO).update(STOCK.row(1), hopeless))
                .isInstanceOf(UpdateConflictException.class)
                .hasMessageContaining("1 attempts");
    }

    @Test
    void anInterruptEndsTheAttempts() throws SQLException {
        UserDatabase database = database("sqlite");
        Change hopeless = overtaken(database, Integer.MAX_VALUE, TAKE_ONE);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> over(database).update(STOCK.row(1), hopeless))
                .isInstanceOf(UpdateConflictException.class)
                .hasMessageContaining("interrupted after 1 attempts");
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anEmptyChangeWritesNothing() throws SQLException {
        UserDatabase database = database("h2");
        assertThat(over(database).update(STOCK.row(1), now -> Map.of())).isFalse();
        assertThat(database.number("SELECT version FROM stock WHERE id = 1")).isZero();
    }

    @Test
    void nullIsAValueLikeOthers() throws SQLException {
        UserDatabase database = database("h2");
        database.run("UPDATE stock SET num = NULL WHERE id = 1");
        over(database).update(BY_VALUE.row(1), now -> Map.of("num", now.get("num") == null ? 1 : 2));
        assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(1);
        Map<String, Object> none = new HashMap<>();
        none.put("NUM", null);
        over(database).update(STOCK.row(1), now -> none);
        assertThat(database.number("SELECT COUNT(*) FROM stock WHERE id = 1 AND num IS NULL"))
                .isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void severalTablesAreOneTransactionForEachAttempt(String product) throws SQLException {
        UserDatabase database = database(product);
        Change change = overtaken(database, product.equals("sqlite") ? 0 : 2, TAKE_ONE);
        AtomicInteger attempts = new AtomicInteger();
        int sold = over(database).run(connection -> {
            connection.createStatement().executeUpdate("INSERT INTO sale VALUES (" + attempts.incrementAndGet() + ")");
            Outcome outcome = STOCK.row(1).tryUpdate(connection, change);
            return outcome == Outcome.CONFLICT ? Optional.empty() : Optional.of(attempts.get());
        });
        assertThat(database.number("SELECT COUNT(*) FROM sale")).isEqualTo(1);
        assertThat(database.number("SELECT id FROM sale")).isEqualTo(sold);
        // What fails otherwise is rolled back and not repeated.
        assertThatThrownBy(() -> over(database).run(connection -> {
                    connection.createStatement().executeUpdate("INSERT INTO sale VALUES (99)");
                    throw new SQLException("the attempt's own", "HY000");
                }))
                .hasMessage("the attempt's own");
        assertThat(database.number("SELECT COUNT(*) FROM sale")).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
    void errorsThatMeanSomebodyWasFirstAreRepeated(int isolation) throws SQLException {
        UserDatabase database = database("postgresql");
        Change change = overtaken(database, 2, TAKE_ONE);
        over(database).run(connection -> {
            connection.setTransactionIsolation(isolation);
            // At these levels PostgreSQL fails instead of returning a count of 0.
            return STOCK.row(1).tryUpdate(connection, change) == Outcome.WRITTEN ? Optional.of(true) : Optional.empty();
        });
        assertThat(time.pauses).isEqualTo(2);
        assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(7);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "sqlite", "postgresql", "mariadb", "mysql"})
    void anOpenTransactionThatCannotSeeOthersIsRefused(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.connect()) {
            OptimisticUpdate updates = OptimisticUpdate.over(connection).clock(time);
            // In autocommit every isolation level will do.
            assertThat(updates.update(STOCK.row(1), TAKE_ONE)).isTrue();
            connection.setTransactionIsolation(
                    product.equals("postgresql")
                            ? Connection.TRANSACTION_REPEATABLE_READ
                            : Connection.TRANSACTION_SERIALIZABLE);
            assertThat(updates.update(STOCK.row(1), TAKE_ONE)).isTrue();
            connection.setAutoCommit(false);
            assertThatIllegalStateException()
                    .isThrownBy(() -> updates.update(STOCK.row(1), TAKE_ONE))
                    .withMessageContainingAll(
                            product.equals("postgresql") ? "REPEATABLE READ" : "SERIALIZABLE", "never see");
            assertThatIllegalStateException()
                    .isThrownBy(() -> updates.run(any -> Optional.of(1)))
                    .withMessageContaining("data source");
            connection.rollback();
        }
        assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(8);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void atReadCommittedAnOpenTransactionWillDo(String product) throws SQLException {
        UserDatabase database = database(product);
        try (Connection connection = database.begin()) {
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            Change change = overtaken(database, 2, TAKE_ONE);
            assertThat(OptimisticUpdate.over(connection).clock(time).update(STOCK.row(1), change))
                    .isTrue();
            assertThat(connection.getAutoCommit()).isFalse();
            assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(8);
            connection.commit();
        }
        assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(7);
    }

    @Test
    void aPoolThatIsNotInAutocommitIsCommitted() throws SQLException {
        UserDatabase database = database("h2");
        try (com.zaxxer.hikari.HikariDataSource pool = new com.zaxxer.hikari.HikariDataSource()) {
            pool.setDataSource(database.source());
            pool.setAutoCommit(false);
            pool.setMaximumPoolSize(1);
            OptimisticUpdate updates = OptimisticUpdate.over(pool).clock(time);
            assertThat(updates.update(STOCK.row(1), overtaken(database, 1, TAKE_ONE)))
                    .isTrue();
            assertThat(updates.<Integer>run(connection -> {
                        STOCK.row(1).tryUpdate(connection, TAKE_ONE);
                        return Optional.of(1);
                    }))
                    .isEqualTo(1);
        }
        assertThat(database.number("SELECT num FROM stock WHERE id = 1")).isEqualTo(7);
    }

    @Test
    void whatIsWrongIsSaid() throws SQLException {
        UserDatabase database = database("h2");
        OptimisticUpdate updates = over(database);
        assertThatThrownBy(() -> updates.update(STOCK.row(3), TAKE_ONE))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessageContaining("no row with id = 3");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> updates.update(STOCK.row(1), now -> Map.of("num", now.getInt("nam"))))
                .withMessageContaining("no column nam");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> updates.update(STOCK.row(1), now -> Map.of("num = 1; --", 1)));
        for (String fixed : new String[] {"id", "version", "nam"}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> updates.update(STOCK.row(1), now -> Map.of(fixed, 1)))
                    .withMessageContaining("cannot write " + fixed);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> updates.update(BY_VALUE.row(1), now -> Map.of("num", now.getLong("version"))))
                .withMessageContaining("not compared");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> updates.update(
                        VersionedTable.of("stock", "id").byValue("nam").row(1), now -> Map.of("num", 1)))
                .withMessageContaining("no column nam");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> VersionedTable.of("stock", "id").byVersion("ID"));
        assertThatIllegalArgumentException().isThrownBy(() -> STOCK.row());
        assertThatNullPointerException().isThrownBy(() -> OptimisticUpdate.over((javax.sql.DataSource) null));
        assertThatNullPointerException().isThrownBy(() -> OptimisticUpdate.over((Connection) null));
        assertThatIllegalArgumentException().isThrownBy(() -> updates.attempts(0));
        assertThatIllegalArgumentException().isThrownBy(() -> updates.within(Duration.ofSeconds(-1)));
        database.run("CREATE TABLE twice (id INTEGER, num INTEGER)", "INSERT INTO twice VALUES (1, 1), (1, 2)");
        assertThatIllegalStateException()
                .isThrownBy(() -> updates.update(
                        VersionedTable.of("twice", "id").byValue("num").row(1), now -> Map.of("num", 1)))
                .withMessageContaining("unique key");
        database.run("ALTER TABLE stock ALTER COLUMN version DROP NOT NULL", "UPDATE stock SET version = NULL");
        assertThatIllegalStateException()
                .isThrownBy(() -> updates.update(STOCK.row(1), TAKE_ONE))
                .withMessageContaining("NOT NULL DEFAULT 0");
    }

    /** A clock on which only pauses take time. */
    private static final class NotedTime implements MonotonicClock {

        private final long start = System.nanoTime();
        private long noted;
        private int pauses;

        @Override
        public long nanoTime() {
            return start + noted;
        }

        @Override
        public long epochMicros() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void parkNanos(Object blocker, long nanos) {
            noted += nanos;
            pauses++;
        }
    }
}
