package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.dialect.GenericDialect;
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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.sqlite.SQLiteErrorCode;

/** Which times count as the wait of a call for its connection. */
class SerialConnectionTest {

    private static final Duration LIMIT = Duration.ofSeconds(5);

    private static final int MANY = 1_000_000;

    private static final Duration JUST_UNUSED = KeptConnection.UNUSED.plusNanos(1);

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
            clock.advance(KeptConnection.UNUSED);
            connection.giveBackIfUnused();
            use(connection);
            assertThat(pool.lent).hasValue(1);
            assertThat(pool.checked).hasValue(0);

            clock.advance(JUST_UNUSED);
            connection.giveBackIfUnused();
            assertThat(pool.givenBack).hasValue(1);
            connection.giveBackIfUnused();
            assertThat(pool.givenBack).hasValue(1);
            use(connection);
            assertThat(pool.lent).hasValue(2);
        }
        assertThat(pool.givenBack).hasValue(2);
        assertThat(pool.closed).hasValue(0);
    }

    /** A firewall may have dropped it, and nothing else has looked after it. */
    @Test
    void connectionThatWasUnusedIsCheckedBeforeItsNextUse() throws SQLException {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            use(connection);
            clock.advance(JUST_UNUSED);
            use(connection);
            assertThat(pool.checked).hasValue(1);
            assertThat(pool.lent).hasValue(1);

            clock.advance(JUST_UNUSED);
            pool.underneath.close();
            use(connection);
            assertThat(pool.lent).hasValue(2);
            assertThat(pool.closed).hasValue(1);
        }
    }

    /** As one of a driver that throws what it should not. */
    @Test
    void connectionWhoseCheckFailsInAnyWayIsNotUsedAgain() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            use(connection);
            clock.advance(JUST_UNUSED);
            pool.failing = "isValid";
            use(connection);
            assertThat(pool.lent).hasValue(2);
            assertThat(pool.closed).hasValue(1);
        }
    }

    /** The connection has the limit of a call that is over, and an answer may be half read. */
    @Test
    void connectionWhoseLimitCannotBeSetAtTheEndOfACallIsNotUsedAgain() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            boolean done = connection.call(turn -> {
                clock.advance(LIMIT.dividedBy(2));
                turn.further();
                pool.failing = "unwrap";
                return true;
            });
            assertThat(done).isTrue();
            pool.failing = "";
            use(connection);
            assertThat(pool.lent).hasValue(2);
        }
    }

    /** The pool would lend the same one again, and would not check it so soon. */
    @Test
    void connectionOfThePoolIsNotUsedAgainAfterAFailure() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            fail(connection);
            assertThat(pool.closed).hasValue(1);
            use(connection);
            assertThat(pool.lent).hasValue(2);
        }
        assertThat(pool.broken).hasValue(0);
    }

    /** Another client came first: that is no failure of the connection. */
    @Test
    void connectionOfThePoolIsKeptAfterARace() {
        Pool pool = new Pool();
        try (SerialConnection connection =
                new SerialConnection(pool, pool.use(), generic(), Duration.ofSeconds(5), LIMIT, clock)) {
            assertThatThrownBy(() -> connection.call(turn -> {
                        throw new SQLException("of the test", "40001");
                    }))
                    .isInstanceOf(StoreException.class);
            use(connection);
            assertThat(pool.lent).hasValue(1);
        }
    }

    /** A pool closes one by itself if the failure says that it is broken. Perhaps the server of the others has gone, too. */
    @Test
    void ifOneConnectionBreaksTheOthersAreChecked() throws SQLException {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool);
                SerialConnection alive = connection(pool);
                SerialConnection dead = connection(pool)) {
            use(connection);
            Connection broken = pool.underneath;
            use(alive);
            use(dead);
            Connection brokenToo = pool.underneath;
            broken.close();
            brokenToo.close();
            fail(connection);
            assertThat(pool.broken).hasValue(1);
            use(alive);
            use(alive);
            assertThat(pool.checked).hasValue(1);
            assertThat(pool.lent).hasValue(3);
            use(dead);
            assertThat(pool.lent).hasValue(4);
            assertThat(pool.broken).hasValue(1);
        }
    }

    /** As after a fail-over: the former primary answers, and may not write. */
    @Test
    void ifOneConnectionLeadsElsewhereTheOthersAreNotUsedAgain() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool);
                SerialConnection other = connection(pool)) {
            use(connection);
            use(other);
            assertThatThrownBy(() -> connection.call(turn -> {
                        throw new SQLException("of the test", null, SQLiteErrorCode.SQLITE_READONLY.code);
                    }))
                    .isInstanceOf(StoreException.class);
            assertThat(pool.discards).hasValue(1);
            use(other);
            assertThat(pool.givenBack).hasValue(1);
            assertThat(pool.lent).hasValue(3);
        }
    }

    /** Its transaction could not be rolled back, for which the pool has closed it. Perhaps the server of the others has gone, too. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closedConnectionIsNotKeptWhateverEndsTheCall(boolean byOurOwn) {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            RuntimeException ended =
                    byOurOwn ? StoreException.refused("of the test", null) : new IllegalStateException("of the test");
            assertThatThrownBy(() -> connection.call(turn -> {
                        pool.underneath.close();
                        throw ended;
                    }))
                    .isSameAs(ended);
            use(connection);
            assertThat(pool.lent).hasValue(2);
            assertThat(pool.broken).hasValue(1);
        }
    }

    /** An answer may be half read. That is no reason to end those of others, too. */
    @Test
    void connectionIsNotUsedAgainAfterAnErrorInTheMidstOfACall() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            assertThatThrownBy(() -> connection.call(turn -> {
                        throw new OutOfMemoryError("of the test");
                    }))
                    .isInstanceOf(OutOfMemoryError.class);
            assertThat(pool.closed).hasValue(1);
            assertThat(pool.broken).hasValue(0);
        }
    }

    /** No driver should throw one, but one that does has perhaps not read all of an answer. */
    @Test
    void connectionIsNotUsedAgainAfterAnExceptionOfTheDriverThatIsNoSqlException() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            assertThatThrownBy(() -> connection.call(turn -> {
                        throw new IndexOutOfBoundsException("of the test");
                    }))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThat(pool.closed).hasValue(1);
        }
    }

    /** What was done is known by then. */
    @Test
    void errorOfTheDriverAtTheEndOfACallHidesNothingOfIt() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            assertThatThrownBy(() -> connection.call(turn -> {
                        pool.failing = "close";
                        pool.thrown = new InternalError("of the test");
                        throw new IllegalStateException("of the call");
                    }))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("of the call");
            pool.failing = "";
            boolean done = connection.call(turn -> {
                clock.advance(LIMIT.dividedBy(2));
                turn.further();
                pool.failing = "unwrap";
                return true;
            });
            assertThat(done).isTrue();
            pool.failing = "";
            use(connection);
            assertThat(pool.lent).hasValue(3);
        }
    }

    @Test
    void connectionIsUsedAgainAfterAFailureThatIsOurOwn() {
        Pool pool = new Pool();
        try (SerialConnection connection = connection(pool)) {
            assertThatThrownBy(() -> connection.call(turn -> {
                        throw StoreException.refused("of the test", null);
                    }))
                    .isInstanceOf(StoreException.class);
            use(connection);
            assertThat(pool.closed).hasValue(0);
        }
    }

    private static GenericDialect generic() {
        return GenericDialect.of("of the test", ServerOptions.of(Map.of("clock", "0")));
    }

    private static void use(SerialConnection connection) {
        connection.call(turn -> turn.table().statements().dataVersion());
    }

    /** By a failure from which the dialect does not know that the connection is broken. */
    private static void fail(SerialConnection connection) {
        assertThatThrownBy(() -> connection.call(turn -> {
                    throw new SQLException("of the test", null, SQLiteErrorCode.SQLITE_BUSY.code);
                }))
                .isInstanceOf(StoreException.class);
    }

    /** It lends what was given back last, as pools do, and counts. */
    private final class Pool implements ConnectionSource {

        private final SqliteFile file = new SqliteFile(path(), LIMIT, dialect());
        private final Deque<Connection> idle = new ArrayDeque<>();
        private final AtomicInteger lent = new AtomicInteger();
        private final AtomicInteger checked = new AtomicInteger();
        private final AtomicInteger givenBack = new AtomicInteger();
        private final AtomicInteger closed = new AtomicInteger();
        private final AtomicInteger broken = new AtomicInteger();
        private final AtomicInteger discards = new AtomicInteger();
        /** What is behind the one that was lent last. */
        private Connection underneath;

        /** The method of connections that fails as no driver should. */
        private String failing = "";

        private Throwable thrown = new IllegalStateException("of the test");

        @Override
        public Connection open() throws SQLException {
            lent.incrementAndGet();
            if (!idle.isEmpty()) {
                return idle.pop();
            }
            Connection opened = file.open();
            underneath = opened;
            return (Connection) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                        if (method.getName().equals("isValid")) {
                            checked.incrementAndGet();
                        }
                        if (method.getName().equals(failing)) {
                            throw thrown;
                        }
                        return method.invoke(opened, arguments);
                    });
        }

        @Override
        public void giveBack(Connection connection) {
            givenBack.incrementAndGet();
            idle.push(connection);
        }

        @Override
        public void discard(Connection connection) throws SQLException {
            closed.incrementAndGet();
            connection.close();
        }

        @Override
        public void discardAll(Connection connection, int discardsBefore) throws SQLException {
            discard(connection);
            idle.clear();
            discards.compareAndSet(discardsBefore, discardsBefore + 1);
        }

        @Override
        public int discards() {
            return discards.get();
        }

        @Override
        public int breaks() {
            return broken.get();
        }

        @Override
        public void broke() {
            broken.incrementAndGet();
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
        try (SerialConnection connection = new SerialConnection(
                new OneConnection(failing), Use.FOR_EVER, dialect, Duration.ofSeconds(5), LIMIT, clock)) {
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
        return new SerialConnection(source, source.use(), dialect(), Duration.ofSeconds(5), LIMIT, clock);
    }

    private SqliteDialect dialect() {
        return new SqliteDialect(clock, "boot", path().toString());
    }

    private Path path() {
        return folder.resolve("locks.db");
    }
}
