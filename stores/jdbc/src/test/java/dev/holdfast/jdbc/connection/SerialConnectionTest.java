package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.ManualClock;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.sqlite.SQLiteErrorCode;

/** Which times count as the wait of a call for its connection. */
class SerialConnectionTest {

    private static final Duration LIMIT = Duration.ofSeconds(5);

    private static final int MANY = 1_000_000;

    @TempDir
    Path folder;

    private final ManualClock clock = new ManualClock();

    @Test
    void aKeptConnectionThatIsMadeSlowlyLeavesACallAllItsTime() {
        try (SerialConnection connection = connection(Use.FOR_EVER)) {
            assertThat(connection.<Boolean>call(turn -> turn.further() != null)).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(value = Use.class, names = "FOR_EVER", mode = EnumSource.Mode.EXCLUDE)
    void aPooledConnectionThatComesTooLateIsOfNoMoreUse(Use use) {
        try (SerialConnection connection = connection(use)) {
            assertThatThrownBy(() -> connection.call(turn -> true))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("was not reached within 5000 ms");
        }
    }

    /** A thread that calls again and again would take the connection each time before one that has to wake up. */
    @Test
    void callThatWaitsIsOvertakenByAFewOnly() throws InterruptedException {
        try (SerialConnection connection = connection(Use.FOR_EVER)) {
            AtomicInteger calls = new AtomicInteger();
            AtomicInteger overtaken = new AtomicInteger(-1);
            Thread waiting = new Thread(() -> connection.call(turn -> {
                overtaken.set(calls.get());
                return true;
            }));
            connection.<Boolean>call(turn -> {
                waiting.start();
                while (waiting.getState() != Thread.State.TIMED_WAITING) {
                    Thread.onSpinWait();
                }
                return true;
            });
            while (overtaken.get() < 0 && calls.get() < MANY) {
                connection.call(turn -> calls.incrementAndGet());
            }
            waiting.join();
            assertThat(overtaken).hasValueLessThanOrEqualTo(SerialConnection.MOST_OVERTAKING);
        }
    }

    /** To borrow one that was idle for half a second costs a message to the server and back. */
    @Test
    void connectionOfThePoolIsKeptWhileItIsUsed() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            use(connection);
            clock.advance(SerialConnection.UNUSED);
            connection.giveBackIfUnused();
            use(connection);
            assertThat(pool.opened).hasValue(1);
            assertThat(pool.givenBack).hasValue(0);

            clock.advance(SerialConnection.UNUSED.plusNanos(1));
            connection.giveBackIfUnused();
            assertThat(pool.givenBack).hasValue(1);
            connection.giveBackIfUnused();
            assertThat(pool.givenBack).hasValue(1);
            use(connection);
            assertThat(pool.opened).hasValue(2);
        }
        assertThat(pool.givenBack).hasValue(2);
        assertThat(pool.discarded).hasValue(0);
    }

    /** The pool finds out whether it still works. */
    @Test
    void connectionOfThePoolIsGivenBackAfterAFailure() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            fail(connection);
            assertThat(pool.givenBack).hasValue(1);
            use(connection);
            assertThat(pool.opened).hasValue(2);
        }
    }

    /** A pool closes one by itself if the failure says that it is broken. The others lead to the same server. */
    @Test
    void ifOneConnectionBreaksNoneFromBeforeIsUsedAgain() throws SQLException {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool);
                SerialConnection other = connection(pool)) {
            use(connection);
            Connection broken = pool.last;
            use(other);
            broken.close();
            fail(connection);
            assertThat(pool.discarded).hasValue(1);
            use(other);
            assertThat(pool.givenBack).hasValue(1);
            use(connection);
            use(other);
            assertThat(pool.opened).hasValue(4);
        }
        assertThat(pool.discarded).hasValue(1);
    }

    /** An answer may be half read. */
    @Test
    void connectionIsNotUsedAgainAfterAnErrorInTheMidstOfACall() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            assertThatThrownBy(() -> connection.call(turn -> {
                        throw new OutOfMemoryError("of the test");
                    }))
                    .isInstanceOf(OutOfMemoryError.class);
            assertThat(pool.discarded).hasValue(1);
        }
    }

    private static void use(SerialConnection connection) {
        connection.call(turn -> turn.table().statements().dataVersion());
    }

    /** By a failure from which the dialect does not know that the connection is broken. */
    private static void fail(SerialConnection connection) {
        assertThatThrownBy(() -> connection.call(turn -> {
                    throw new SQLException("busy", null, SQLiteErrorCode.SQLITE_BUSY.code);
                }))
                .isInstanceOf(StoreException.class);
    }

    /** It opens a connection for each caller, and counts. */
    private final class Pool implements ConnectionSource {

        private final SqliteFile file = new SqliteFile(path(), LIMIT, dialect());
        private final AtomicInteger opened = new AtomicInteger();
        private final AtomicInteger givenBack = new AtomicInteger();
        private final AtomicInteger discarded = new AtomicInteger();
        private Connection last;

        @Override
        public Connection open() throws SQLException {
            opened.incrementAndGet();
            last = file.open();
            return last;
        }

        @Override
        public void giveBack(Connection connection) throws SQLException {
            givenBack.incrementAndGet();
            connection.close();
        }

        @Override
        public void discard(Connection connection) throws SQLException {
            discarded.incrementAndGet();
            connection.close();
        }

        @Override
        public int broken() {
            return discarded.get();
        }

        @Override
        public Use use() {
            return Use.WHILE_BUSY;
        }

        @Override
        public void close() {}
    }

    /** A connection that is not given back is missing for ever. */
    @Test
    void connectionIsGivenBackAlsoIfItsStatementsCannotBeClosed() throws SQLException {
        SqliteDialect dialect = dialect();
        Connection open = new SqliteFile(path(), LIMIT, dialect).open();
        Connection failing = (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> method.getName().equals("prepareStatement")
                        ? withoutEnd((PreparedStatement) method.invoke(open, arguments))
                        : method.invoke(open, arguments));
        try (SerialConnection connection =
                new SerialConnection(new OneConnection(failing), dialect, Duration.ofSeconds(5), LIMIT, clock)) {
            connection.<Boolean>call(turn -> {
                turn.table().statements().dataVersion();
                return true;
            });
        }
        assertThat(open.isClosed()).isTrue();
    }

    private record OneConnection(Connection open) implements ConnectionSource {

        @Override
        public Use use() {
            return Use.FOR_EVER;
        }

        @Override
        public void close() {}
    }

    private static PreparedStatement withoutEnd(PreparedStatement statement) {
        return (PreparedStatement) Proxy.newProxyInstance(
                SerialConnectionTest.class.getClassLoader(),
                new Class<?>[] {PreparedStatement.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("close")) {
                        throw new SQLException("cannot be closed");
                    }
                    return method.invoke(statement, arguments);
                });
    }

    private SerialConnection connection(Use use) {
        SqliteFile file = new SqliteFile(path(), LIMIT, dialect());
        ConnectionSource slow = new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                clock.advance(LIMIT.plusMillis(1));
                return file.open();
            }

            @Override
            public Use use() {
                return use;
            }

            @Override
            public void close() {}
        };
        return connection(slow);
    }

    private SerialConnection connection(ConnectionSource source) {
        return new SerialConnection(source, dialect(), Duration.ofSeconds(5), LIMIT, clock);
    }

    private SqliteDialect dialect() {
        return new SqliteDialect(clock, "boot", path().toString());
    }

    private Path path() {
        return folder.resolve("locks.db");
    }
}
