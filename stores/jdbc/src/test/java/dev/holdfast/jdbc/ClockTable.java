package dev.holdfast.jdbc;

import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * The time of a manual clock in a table of a server, where the statements of a store read it instead of the server's time. The
 * table takes part in no transaction: what the store's statements read is what was written last.
 */
final class ClockTable {

    private ClockTable() {}

    /** A clock in an empty schema of PostgreSQL: a sequence, because {@code setval} belongs to no transaction. */
    static ServerTime inPostgres(String url, ManualClock clock) {
        return follow(
                url,
                clock,
                "SELECT setval('test_clock', ?)",
                "CREATE SEQUENCE test_clock",
                "SET synchronous_commit = off");
    }

    /** A clock in an empty database of MariaDB: a row of an engine without transactions. */
    static ServerTime inMariaDb(String url, ManualClock clock) {
        return follow(
                url,
                clock,
                "UPDATE test_clock SET micros = ?",
                "CREATE TABLE test_clock (micros BIGINT) ENGINE=MyISAM",
                "INSERT INTO test_clock VALUES (0)");
    }

    /** A clock in an empty database of H2, whose statements see each row as it was committed last. */
    static ServerTime inH2(String url, ManualClock clock) {
        return follow(
                url,
                clock,
                "UPDATE test_clock SET micros = ?",
                "CREATE TABLE test_clock (micros BIGINT)",
                "INSERT INTO test_clock VALUES (0)");
    }

    private static ServerTime follow(String url, ManualClock clock, String write, String... setUp) {
        try {
            Connection connection = DriverManager.getConnection(url);
            for (String statement : setUp) {
                try (var created = connection.createStatement()) {
                    created.execute(statement);
                }
            }
            PreparedStatement written = connection.prepareStatement(write);
            return ServerTime.follow(clock, micros -> write(written, micros));
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    private static void write(PreparedStatement statement, long micros) {
        try {
            statement.setLong(1, micros);
            statement.execute();
        } catch (SQLException failure) {
            throw new AssertionError("The server's clock could not be set", failure);
        }
    }
}
