package dev.holdfast.jdbc.row;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

/** A transaction that had no effect, because another client came first, and that cannot be undone. */
class FailedRollBackTest {

    private static final Duration LONG = Duration.ofMinutes(1);

    private final Claimant alice = new Claimant("alice", LONG);
    private final List<LockName> names = List.of(new LockName("a"), new LockName("b"));
    private final H2Dialect dialect = new H2Dialect("h2");
    private boolean fails;

    private Connection failing(Connection open) {
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (fails && method.getName().equals("rollback")) {
                        throw new SQLException("of the test");
                    }
                    try {
                        return method.invoke(open, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                });
    }

    /** The next try on the same connection would be refused, with an unknown effect. */
    @Test
    void refusedWriteHadNoEffectAlsoIfItCannotBeRolledBack() throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:" + System.nanoTime());
        try (Connection other = h2.getConnection();
                Statement statement = other.createStatement();
                Connection open = h2.getConnection()) {
            for (String create : dialect.createTables()) {
                statement.execute(dialect.sql(create));
            }
            LockTable table = new LockTable(failing(open), dialect, LONG, false, MonotonicClock.SYSTEM);
            acquire(table, () -> 0);
            fails = true;
            assertThatExceptionOfType(StoreException.class)
                    .isThrownBy(() -> acquire(
                            table, () -> statement.executeUpdate("UPDATE holdfast_lock SET version = version + 1")))
                    .matches(failure -> failure.effect() == Effect.NONE)
                    .matches(StoreException::retryable);
            assertThat(table.statements().isSpoiled()).isTrue();
        }
    }

    private void acquire(LockTable table, LockStatements.Change meanwhile) throws SQLException {
        table.transition(
                names,
                read -> {
                    try {
                        meanwhile.run();
                    } catch (SQLException failure) {
                        throw new AssertionError(failure);
                    }
                    return names.stream()
                            .map(name -> read.record(name).enqueue(alice.claim(name, 1, 2), read.now(), read.epoch()))
                            .toList();
                },
                false);
    }
}
