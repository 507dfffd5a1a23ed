package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A pool of the user's that lends a connection again as it got it back: what ours has changed must not stay. */
class BorrowedConnectionsTest {

    private static final int USUAL_MILLIS = 60_000;
    private static final int SHORT_MILLIS = 3_000;

    private final BorrowedConnections connections = new BorrowedConnections(pool(), Duration.ofMillis(SHORT_MILLIS));

    private Connection underneath;
    private int networkMillis = USUAL_MILLIS;
    private boolean isBack;

    /** The method that is done, and then fails. */
    private String failing = "";

    @BeforeEach
    void open() throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:");
        underneath = h2.getConnection();
        underneath.setAutoCommit(false);
    }

    @AfterEach
    void close() throws SQLException {
        underneath.close();
    }

    @Test
    void connectionIsGivenBackAsItWas() throws SQLException {
        Connection borrowed = connections.open();
        assertThat(underneath.getAutoCommit()).isTrue();
        assertThat(networkMillis).isEqualTo(SHORT_MILLIS);
        connections.giveBack(borrowed);
        assertThat(isBack).isTrue();
        assertThat(underneath.getAutoCommit()).isFalse();
        assertThat(networkMillis).isEqualTo(USUAL_MILLIS);
    }

    @ParameterizedTest
    @ValueSource(strings = {"setAutoCommit", "setNetworkTimeout"})
    void connectionThatIsPreparedByHalfIsNotLentAgain(String method) {
        failing = method;
        assertThatThrownBy(connections::open).isInstanceOf(SQLException.class);
        isOfNoMoreUse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"setAutoCommit", "setNetworkTimeout", "isClosed"})
    void connectionThatCannotBeRestoredIsNotLentAgain(String method) throws SQLException {
        Connection borrowed = connections.open();
        failing = method;
        assertThatThrownBy(() -> connections.giveBack(borrowed)).isInstanceOf(SQLException.class);
        isOfNoMoreUse();
    }

    @Test
    void connectionThatCannotBeAbortedIsNotLentAgain() throws SQLException {
        Connection borrowed = connections.open();
        failing = "abort";
        assertThatThrownBy(() -> connections.discard(borrowed)).isInstanceOf(SQLException.class);
        isOfNoMoreUse();
    }

    /** The driver of H2 does nothing when it is to abort one. */
    @Test
    void connectionThatIsDiscardedIsNotLentAgain() throws SQLException {
        connections.discard(connections.open());
        isOfNoMoreUse();
    }

    /** Its connections unwrap to themselves, so that it gets back what is discarded; what was begun there is undone. */
    @Test
    void whatIsLeftOnAConnectionOfH2sOwnPoolIsUndone() throws SQLException {
        JdbcConnectionPool pool = JdbcConnectionPool.create("jdbc:h2:mem:", "", "");
        try {
            BorrowedConnections ofPool = new BorrowedConnections(pool, Duration.ofMillis(SHORT_MILLIS));
            Connection spoiled = ofPool.open();
            try (Statement statement = spoiled.createStatement()) {
                statement.execute("CREATE TABLE t (i int)");
                spoiled.setAutoCommit(false);
                statement.execute("INSERT INTO t VALUES (1)");
            }
            ofPool.discard(spoiled);
            try (Connection next = pool.getConnection();
                    Statement statement = next.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT count(*) FROM t")) {
                assertThat(next.getAutoCommit()).isTrue();
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).isZero();
            }
        } finally {
            pool.dispose();
        }
    }

    private void isOfNoMoreUse() {
        assertThat(isBack).isTrue();
        assertThat(underneath).matches(BorrowedConnectionsTest::isClosed, "is closed");
    }

    private static boolean isClosed(Connection connection) {
        try {
            return connection.isClosed();
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    private DataSource pool() {
        return (DataSource) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {DataSource.class}, (pool, lend, none) -> lent());
    }

    private Connection lent() {
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    Object result = run(method, arguments);
                    if (method.getName().equals(failing)) {
                        throw new SQLException("of the test");
                    }
                    return result;
                });
    }

    private Object run(Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "close" -> isBack = true;
            case "setNetworkTimeout" -> networkMillis = (Integer) arguments[1];
            case "getNetworkTimeout" -> {
                return networkMillis;
            }
            default -> {
                try {
                    return method.invoke(underneath, arguments);
                } catch (InvocationTargetException thrown) {
                    throw thrown.getCause();
                }
            }
        }
        return null;
    }
}
