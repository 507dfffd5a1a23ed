package dev.holdfast.jdbc.row;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.dialect.GenericDialect;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The statements that a connection keeps prepared. */
class LockStatementsTest {

    /** Nothing else limits how long some databases wait for a row. */
    @Test
    void statementThatIsKeptHasALimit() throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:limit");
        GenericDialect dialect = generic();
        try (Connection open = h2.getConnection();
                LockStatements statements = new LockStatements(open, dialect, true)) {
            for (int use = 0; use < 2; use++) {
                assertThat(statements.<Integer>query(
                                "SELECT 1",
                                statement -> assertThat(statement.getQueryTimeout())
                                        .isEqualTo(dialect.queryTimeoutSeconds())
                                        .isPositive(),
                                rows -> rows.next() ? rows.getInt(1) : 0))
                        .isEqualTo(1);
            }
        }
    }

    /** There are as many as there are sizes of batches. */
    @Test
    void onlySoManyStatementsStayPrepared() throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:many");
        try (Connection open = h2.getConnection();
                LockStatements statements = new LockStatements(open, generic(), true)) {
            List<PreparedStatement> prepared = new ArrayList<>();
            for (int i = 0; i < LockStatements.MOST_KEPT + 10; i++) {
                for (String sql : List.of("SELECT " + i, "SELECT 'always'")) {
                    statements.query(sql, prepared::add, ResultSet::next);
                }
            }
            assertThat(prepared.get(1).isClosed()).as("is used all the time").isFalse();
            assertThat(Set.copyOf(prepared)).hasSize(LockStatements.MOST_KEPT + 11);
            assertThat(Set.copyOf(prepared).stream().filter(LockStatementsTest::isOpen))
                    .hasSize(LockStatements.MOST_KEPT);
        }
    }

    /** The transaction would be undone with all that is run on it afterwards, which others would believe to be done. */
    @ParameterizedTest
    @ValueSource(strings = {"rollback", "setAutoCommit"})
    void nothingIsRunAfterATransactionThatCouldNotBeEnded(String failing) throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:");
        AtomicBoolean fails = new AtomicBoolean();
        try (Connection open = h2.getConnection()) {
            Connection broken = (Connection) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                        if (fails.get() && method.getName().equals(failing)) {
                            throw new SQLException("of the test");
                        }
                        return method.invoke(open, arguments);
                    });
            LockStatements statements = new LockStatements(broken, generic(), false);
            statements.begin(2);
            fails.set(true);
            try {
                statements.rollBack();
                assertThat(failing).isEqualTo("setAutoCommit");
            } catch (SQLException failure) {
                assertThat(failing).isEqualTo("rollback");
            }
            fails.set(false);
            assertThat(statements.isSpoiled()).isTrue();
            assertThatThrownBy(() -> statements.begin(1)).hasMessageContaining("is not used any more");
            assertThatThrownBy(() -> statements.execute("SELECT 1")).hasMessageContaining("is not used any more");
            assertThatThrownBy(() -> statements.generated("SELECT 1", statement -> {}))
                    .hasMessageContaining("is not used any more");
        }
    }

    private static GenericDialect generic() {
        return GenericDialect.of("of the test", ServerOptions.of(Map.of("clock", "0")));
    }

    private static boolean isOpen(PreparedStatement statement) {
        try {
            return !statement.isClosed();
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
