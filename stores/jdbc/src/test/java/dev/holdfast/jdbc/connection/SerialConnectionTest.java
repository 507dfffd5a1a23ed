package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

/** Which times count as the wait of a call for its connection. */
class SerialConnectionTest {

    private static final Duration LIMIT = Duration.ofSeconds(5);

    private static final int MANY = 1_000_000;

    @TempDir
    Path folder;

    private final ManualClock clock = new ManualClock();

    @Test
    void aKeptConnectionThatIsMadeSlowlyLeavesACallAllItsTime() {
        try (SerialConnection connection = connection(true)) {
            assertThat(connection.<Boolean>call(turn -> turn.further() != null)).isTrue();
        }
    }

    @Test
    void aPooledConnectionThatComesTooLateIsOfNoMoreUse() {
        try (SerialConnection connection = connection(false)) {
            assertThatThrownBy(() -> connection.call(turn -> true))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("was not reached within 5000 ms");
        }
    }

    /** A thread that calls again and again would take the connection each time before one that has to wake up. */
    @Test
    void callThatWaitsIsOvertakenByAFewOnly() throws InterruptedException {
        try (SerialConnection connection = connection(true)) {
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

    /** A connection that is not given back is missing for ever. */
    @Test
    void connectionIsGivenBackAlsoIfItsStatementsCannotBeClosed() throws SQLException {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(clock, "boot", path.toString());
        Connection open = new SqliteFile(path, LIMIT, dialect).open();
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
        public boolean keep() {
            return true;
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

    private SerialConnection connection(boolean kept) {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(clock, "boot", path.toString());
        SqliteFile file = new SqliteFile(path, LIMIT, dialect);
        ConnectionSource slow = new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                clock.advance(LIMIT.plusMillis(1));
                return file.open();
            }

            @Override
            public boolean keep() {
                return kept;
            }

            @Override
            public void close() {}
        };
        return new SerialConnection(slow, dialect, Duration.ofSeconds(5), LIMIT, clock);
    }
}
