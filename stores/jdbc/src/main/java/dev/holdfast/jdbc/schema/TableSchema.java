package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.config.ServerOptions.SchemaMode;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The tables: {@code holdfast_lock}, and {@code holdfast_schema} with the version of their format. They are created
 * on first use, and checked each time a store is opened.
 */
public final class TableSchema {

    /** The version of the table format that this code reads and writes. */
    public static final int VERSION = 1;

    public static final String INSERT_VERSION = "INSERT INTO holdfast_schema (version, clock, origin) SELECT " + VERSION
            + ", '-', 0 FROM (SELECT 1 AS one) AS told WHERE NOT EXISTS (SELECT 1 FROM holdfast_schema)";

    // The query names every column, so that it fails if one is missing, and it reads no row.
    private static final String PROBE = """
            SELECT name, version, counter, clock, holder, held, permits, capacity, since, expires, owner, more, others
            FROM holdfast_lock WHERE 1 = 0
            """;

    private static final String REMEDY =
            "Have somebody who may do so run the statements of JdbcLockStore.ddl(URL), which \"holdfast schema --store URL\""
                    + " prints, and let this user select, insert, update and delete";

    /** How often it is checked whether another process has created the tables. */
    private static final int MAX_LOOKS = 50;

    /** How often a table with differences is checked before it is refused. */
    private static final int MAX_LOOKS_AT_A_DIFFERENCE = 5;

    /** The pause between two such checks. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Dialect dialect;
    private final String where;

    public TableSchema(Dialect dialect, String where) {
        this.dialect = dialect;
        this.where = where;
    }

    /** Creates and checks the tables as the mode says. */
    public void ensure(Connection connection, SchemaMode mode) throws SQLException {
        for (int looks = 1; ; looks++) {
            try {
                ensureOnce(connection, mode);
                return;
            } catch (SQLException failure) {
                // Another client is just creating the tables, and has them locked.
                if (looks == MAX_LOOKS || !isPassing(failure)) {
                    throw failure;
                }
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private boolean isPassing(SQLException failure) {
        return dialect.isRace(failure) || dialect.isLocked(failure);
    }

    private void ensureOnce(Connection connection, SchemaMode mode) throws SQLException {
        if (mode == SchemaMode.CREATE) {
            ensure(connection);
        } else if (mode == SchemaMode.CHECK) {
            if (version(connection) == Version.NO_TABLE) {
                throw StoreException.refused(
                        where + " has no tables of Holdfast, and schema=check says that none are to be made. " + REMEDY,
                        null);
            }
            requireRow(connection);
            check(connection, true);
        }
    }

    /** Creates the tables if they are missing, and checks them. */
    public void ensure(Connection connection) throws SQLException {
        if (version(connection) != Version.OURS) {
            // A table that is not ours is reported before any table is created beside it.
            check(connection, false);
            createUnlessAnotherDoes(connection);
            requireRow(connection);
        }
        check(connection, true);
        createNodeTable(connection);
    }

    // Apart from the other tables, because a database that an earlier version has made lacks it, and because a
    // server may refuse such a table, which only a node of a quorum needs: a vote then says that it is missing.
    private void createNodeTable(Connection connection) throws SQLException {
        String sql = dialect.createNodeTable();
        if (sql == null || !dialect.canBeNode() || !dialect.tables().hasNode() || hasNodeTable(connection)) {
            return;
        }
        try {
            create(connection, List.of(sql));
        } catch (SQLException refused) {
            if (connection.isClosed()) {
                throw refused;
            }
        }
    }

    private boolean hasNodeTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(dialect.sql(dialect.hasNodeTable()))) {
            return rows.next() && rows.getBoolean(1);
        }
    }

    private void requireRow(Connection connection) throws SQLException {
        if (version(connection) != Version.OURS) {
            throw wrong("table holdfast_schema has no row, expected one with version " + VERSION, null);
        }
    }

    // Where the creation of tables is not transactional, a table that another client is just creating may lack its
    // key.
    private void check(Connection connection, boolean mustBeThere) throws SQLException {
        for (int looks = 1; ; looks++) {
            try {
                checkOnce(connection, mustBeThere);
                return;
            } catch (StoreException different) {
                if (looks == MAX_LOOKS_AT_A_DIFFERENCE) {
                    throw different;
                }
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private void checkOnce(Connection connection, boolean mustBeThere) throws SQLException {
        ActualTable found = ActualTable.read(connection, dialect);
        if (found == null) {
            if (mustBeThere) {
                throw wrong("there is holdfast_schema, but no holdfast_lock", null);
            }
            return;
        }
        List<String> differences = new RequiredTable(dialect.names().column()).differences(found);
        if (differences.isEmpty()) {
            if (found.columns().isEmpty()) {
                probe(connection);
            } else if (dialect.names().isCollated() && !ActualTable.comparesBytes(connection, dialect)) {
                differences = List.of(
                        "column name compares by a collation, expected one that compares and sorts byte by byte");
            }
        }
        if (!differences.isEmpty()) {
            throw wrong("table " + found.place() + ": " + String.join("; ", differences), null);
        }
    }

    // Checks the columns for a driver that does not describe tables.
    private void probe(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery(dialect.sql(PROBE)).close();
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                throw wrong(String.valueOf(failure.getMessage()), failure);
            }
            throw failure;
        }
    }

    private void createUnlessAnotherDoes(Connection connection) throws SQLException {
        try {
            create(connection, dialect.createTables());
        } catch (SQLException failure) {
            if (!isMadeByAnother(connection)) {
                if (isPassing(failure)) {
                    throw failure;
                }
                throw StoreException.refused(
                        where + " has no tables of Holdfast, and they cannot be made: " + reason(failure) + ". "
                                + REMEDY,
                        failure);
            }
        }
    }

    // Where the creation of tables is not transactional, the other process may have created only one of them yet.
    private boolean isMadeByAnother(Connection connection) throws SQLException {
        for (int looks = 1; version(connection) != Version.OURS; looks++) {
            if (looks == MAX_LOOKS || ActualTable.read(connection, dialect) == null) {
                return false;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return true;
    }

    // If a statement that creates a table fails so, dialect.failure would report a table of another format, which is
    // wrong.
    private String reason(SQLException failure) {
        return String.valueOf((dialect.isMissing(failure) ? failure : dialect.failure(failure)).getMessage());
    }

    private enum Version {
        OURS,
        NO_ROW,
        NO_TABLE
    }

    // Either the table is missing, or a column of it: then the table is not ours.
    // It looks twice, because another process may create the table between the two statements.
    private Version version(Connection connection) throws SQLException {
        SQLException missing = null;
        for (int looks = 0; looks < 2; looks++) {
            try {
                return readVersion(connection);
            } catch (SQLException failure) {
                if (!dialect.isMissing(failure)) {
                    throw failure;
                }
                missing = failure;
            }
            if (!hasSchemaTable(connection)) {
                return Version.NO_TABLE;
            }
        }
        throw wrong("table holdfast_schema: " + (missing == null ? "" : missing.getMessage()), missing);
    }

    private Version readVersion(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows =
                        statement.executeQuery(dialect.sql("SELECT version, clock, origin FROM holdfast_schema"))) {
            if (!rows.next()) {
                return Version.NO_ROW;
            }
            int version = rows.getInt(1);
            if (version != VERSION) {
                throw wrong("their form is version " + version + ", this program's is " + VERSION, null);
            }
            return Version.OURS;
        }
    }

    private boolean hasSchemaTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement
                    .executeQuery(dialect.sql("SELECT * FROM holdfast_schema WHERE 1 = 0"))
                    .close();
            return true;
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                return false;
            }
            throw failure;
        }
    }

    private void create(Connection connection, List<String> sqls) throws SQLException {
        LockStatements statements = new LockStatements(connection, dialect, false);
        boolean ended = false;
        try {
            statements.begin(2);
            for (String sql : sqls) {
                statements.execute(dialect.sql(sql));
            }
            statements.commit();
            ended = true;
        } finally {
            if (!ended) {
                statements.undo();
            }
            if (statements.isSpoiled()) {
                connection.abort(Runnable::run);
            }
        }
    }

    private StoreException wrong(String difference, @Nullable Throwable cause) {
        return wrong(dialect.tables(), where, dialect.tables().in(difference), cause);
    }

    /** The error for tables that are not ours. */
    public static StoreException wrong(LockTables tables, String where, String difference, @Nullable Throwable cause) {
        return StoreException.refused(
                where
                        + tables.in(
                                " has tables holdfast_lock or holdfast_schema that are not as this version of Holdfast makes them: ")
                        + difference
                        + ". \"holdfast schema --store URL\" prints the statements that make the right ones. Use another"
                        + " database, or, when no process uses them, drop both tables: they are made anew",
                cause);
    }
}
