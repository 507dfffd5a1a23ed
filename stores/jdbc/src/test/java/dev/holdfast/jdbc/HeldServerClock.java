package dev.holdfast.jdbc;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;

/**
 * The time of a manual clock in a table of a server, where the statements of a store read it instead of the server's time. Each
 * change of the clock is written before anybody can read the new time from the clock, so the server never lags behind. A step of
 * the clients' wall clock is none of the server's.
 *
 * <p>Its table takes part in no transaction: what the store's statements read is what was written last.
 */
final class HeldServerClock {

    private final ManualClock clock;
    private final long origin;
    private long start;
    private final PreparedStatement write;

    private HeldServerClock(ManualClock clock, Connection connection, String write) throws SQLException {
        this.clock = clock;
        this.origin = clock.nanoTime();
        this.start = clock.epochMicros();
        this.write = connection.prepareStatement(write);
    }

    /** A clock in an empty schema of PostgreSQL: a sequence, because {@code setval} belongs to no transaction. */
    static HeldServerClock inPostgres(String url, MonotonicClock clock) {
        return follow(
                url,
                clock,
                "SELECT setval('test_clock', ?)",
                "CREATE SEQUENCE test_clock",
                "SET synchronous_commit = off");
    }

    /** A clock in an empty database of MariaDB: a row of an engine without transactions. */
    static HeldServerClock inMariaDb(String url, MonotonicClock clock) {
        return follow(
                url,
                clock,
                "UPDATE test_clock SET micros = ?",
                "CREATE TABLE test_clock (micros BIGINT) ENGINE=MyISAM",
                "INSERT INTO test_clock VALUES (0)");
    }

    /** A clock in an empty database of H2, whose statements see each row as it was committed last. */
    static HeldServerClock inH2(String url, MonotonicClock clock) {
        return follow(
                url,
                clock,
                "UPDATE test_clock SET micros = ?",
                "CREATE TABLE test_clock (micros BIGINT)",
                "INSERT INTO test_clock VALUES (0)");
    }

    private static HeldServerClock follow(String url, MonotonicClock clock, String write, String... setUp) {
        try {
            Connection connection = DriverManager.getConnection(url);
            for (String statement : setUp) {
                try (var created = connection.createStatement()) {
                    created.execute(statement);
                }
            }
            ManualClock manual = (ManualClock) clock;
            HeldServerClock held = new HeldServerClock(manual, connection, write);
            held.write();
            manual.whenChanged(held::write);
            return held;
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    /** Steps the server's clock, as its administrator or a time server does. */
    void step(Duration step) {
        start += step.toNanos() / 1_000;
        write();
    }

    private void write() {
        try {
            write.setLong(1, start + (clock.nanoTime() - origin) / 1_000);
            write.execute();
        } catch (SQLException failure) {
            throw new AssertionError("The server's clock could not be set", failure);
        }
    }
}
