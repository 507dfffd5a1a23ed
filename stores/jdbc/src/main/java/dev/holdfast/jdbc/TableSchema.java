package dev.holdfast.jdbc;

import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * The tables: {@code holdfast_lock}, and {@code holdfast_schema} with the version of their form. They are made on first
 * use, and looked at each time a store is opened.
 */
final class TableSchema {

    /** The form of the tables that this code reads and writes. */
    static final int VERSION = 1;

    static final String INSERT_VERSION = "INSERT INTO holdfast_schema (version, clock, origin) SELECT " + VERSION
            + ", '-', 0 WHERE NOT EXISTS (SELECT 1 FROM holdfast_schema)";

    // Names every column, so that it fails if one is not there, and reads no row.
    private static final String PROBE = """
            SELECT name, version, counter, clock, holder, held, permits, capacity, since, expires, owner, more, others
            FROM holdfast_lock WHERE 1 = 0
            """;

    private final Dialect dialect;
    private final String where;

    TableSchema(Dialect dialect, String where) {
        this.dialect = dialect;
        this.where = where;
    }

    /** Makes the tables if they are missing, and checks them. */
    void ensure(Connection connection) throws SQLException {
        if (!isThere(connection)) {
            createUnlessAnotherDoes(connection);
            if (!isThere(connection)) {
                throw wrong(where, "table holdfast_schema is empty", null);
            }
        }
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery(PROBE).close();
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                throw wrong(where, String.valueOf(failure.getMessage()), failure);
            }
            throw failure;
        }
    }

    private void createUnlessAnotherDoes(Connection connection) throws SQLException {
        try {
            create(connection);
        } catch (SQLException failure) {
            if (!isThere(connection)) {
                throw failure;
            }
        }
    }

    private boolean isThere(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT version, clock, origin FROM holdfast_schema")) {
            if (!rows.next()) {
                return false;
            }
            int version = rows.getInt(1);
            if (version != VERSION) {
                throw wrong(where, "their form is version " + version + ", this program's is " + VERSION, null);
            }
            return true;
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                return false;
            }
            throw failure;
        }
    }

    private void create(Connection connection) throws SQLException {
        LockStatements statements = new LockStatements(connection, dialect, false);
        dialect.begin(statements, 2);
        boolean ended = false;
        try {
            for (String sql : dialect.createTables()) {
                statements.execute(sql);
            }
            dialect.commit(statements);
            ended = true;
        } finally {
            if (!ended) {
                dialect.rollBack(statements);
            }
        }
    }

    /** The error for tables that are not ours. */
    static StoreException wrong(String where, String difference, @Nullable Throwable cause) {
        return StoreException.refused(
                where
                        + " has tables holdfast_lock or holdfast_schema that are not as this version of Holdfast makes them: "
                        + difference
                        + ". Use another database, or, when no process uses them, drop both tables: they are"
                        + " made anew",
                cause);
    }
}
