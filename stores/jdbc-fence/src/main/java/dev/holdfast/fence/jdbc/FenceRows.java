package dev.holdfast.fence.jdbc;

import dev.holdfast.jdbc.row.NameEncoding;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import org.h2.api.ErrorCode;
import org.jspecify.annotations.Nullable;

/**
 * The statements on the table {@code holdfast_fence}, which has a row for each resource that is fenced, with the largest
 * token that a committed transaction advanced it to.
 */
final class FenceRows {

    /** How often a write is tried if other transactions insert or delete the row at the same time. */
    private static final int MAX_TRIES = 3;

    private final SqlProduct product;
    private final String table;

    FenceRows(SqlProduct product, String table) {
        this.product = product;
        this.table = table;
    }

    void create(Connection connection) throws SQLException {
        String name = switch (product) {
            case POSTGRESQL -> "VARCHAR(255) COLLATE \"C\"";
            case MARIADB, MYSQL, H2 -> "VARBINARY(255)";
            case SQLITE -> "TEXT";
            case OTHER -> "VARCHAR(255)";
        };
        String engine = product == SqlProduct.MARIADB || product == SqlProduct.MYSQL ? " ENGINE = InnoDB" : "";
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE " + (product == SqlProduct.OTHER ? "" : "IF NOT EXISTS ") + table
                    + " (name " + name + " NOT NULL PRIMARY KEY, token BIGINT NOT NULL)" + engine);
        }
    }

    /**
     * Advances a resource to a token and keeps its row locked, or leaves it unchanged if its token is larger.
     *
     * @return the largest token of the resource now
     */
    long advance(Connection connection, String resource, long token) throws SQLException {
        return switch (product) {
            case POSTGRESQL, SQLITE -> upsert(connection, resource, token, """
                    INSERT INTO %s AS f (name, token) VALUES (?, ?)
                    ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token
                    """);
            case H2 -> upsert(connection, resource, token, """
                    MERGE INTO %s AS f USING (SELECT CAST(? AS VARBINARY(255)) AS name, CAST(? AS BIGINT) AS token) AS c
                    ON f.name = c.name
                    WHEN MATCHED AND f.token <= c.token THEN UPDATE SET token = c.token
                    WHEN NOT MATCHED THEN INSERT (name, token) VALUES (c.name, c.token)
                    """);
            case MARIADB, MYSQL -> raise(connection, resource, token);
            case OTHER -> updateOrInsert(connection, resource, token);
        };
    }

    private long upsert(Connection connection, String resource, long token, String sql) throws SQLException {
        SQLException conflict = null;
        for (int tries = 1; tries <= MAX_TRIES; tries++) {
            try {
                if (write(connection, sql, resource, token) == 1) {
                    return token;
                }
                long last = last(connection, resource, 0, "");
                if (last > token) {
                    return last;
                }
            } catch (SQLException failure) {
                // With H2 the first inserts of two transactions can conflict; the transaction stays usable.
                if (product != SqlProduct.H2 || failure.getErrorCode() != ErrorCode.DUPLICATE_KEY_1) {
                    throw failure;
                }
                conflict = failure;
            }
        }
        throw inTheWay(resource, conflict);
    }

    // An update that finds no row, and then an insert, would cause gap locks in two transactions and a deadlock at
    // REPEATABLE READ, which is the default of these databases. The number of rows has no meaning here, so the row
    // is read: FOR UPDATE, because a plain read shows the state at the beginning of the transaction.
    private long raise(Connection connection, String resource, long token) throws SQLException {
        String sql = """
                INSERT INTO %s (name, token) VALUES (?, ?)
                ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))
                """;
        write(connection, sql, resource, token);
        return last(connection, resource, token, " FOR UPDATE");
    }

    // In standard SQL. The savepoint keeps the transaction usable if another one inserts the row at the same time.
    private long updateOrInsert(Connection connection, String resource, long token) throws SQLException {
        SQLException conflict = null;
        for (int tries = 1; tries <= MAX_TRIES; tries++) {
            String update = "UPDATE %s SET token = ? WHERE name = ? AND token <= ?";
            try (PreparedStatement statement = connection.prepareStatement(update.formatted(table))) {
                statement.setLong(1, token);
                bindName(statement, 2, resource);
                statement.setLong(3, token);
                if (statement.executeUpdate() == 1) {
                    return token;
                }
            }
            long last = last(connection, resource, 0, "");
            if (last > token) {
                return last;
            }
            Savepoint before = connection.setSavepoint();
            try {
                write(connection, "INSERT INTO %s (name, token) VALUES (?, ?)", resource, token);
                return token;
            } catch (SQLException another) {
                connection.rollback(before);
                conflict = another;
            }
        }
        throw inTheWay(resource, conflict);
    }

    private SQLException inTheWay(String resource, @Nullable SQLException conflict) {
        return new SQLException(
                "The row of \"" + resource + "\" in " + table
                        + " can neither be changed nor inserted: another transaction"
                        + " inserts or deletes it. Roll back and run the transaction again",
                "40001",
                conflict);
    }

    private int write(Connection connection, String sql, String resource, long token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql.formatted(table))) {
            bindName(statement, 1, resource);
            statement.setLong(2, token);
            return statement.executeUpdate();
        }
    }

    /**
     * Removes rows whose token is in a range. A row that is advanced meanwhile stays.
     *
     * @param most how many rows are removed at most
     * @return how many were removed
     */
    int remove(Connection connection, long from, long before, int most) throws SQLException {
        String delete = "DELETE FROM " + table + " WHERE name = ? AND token = ?";
        int removed = 0;
        try (PreparedStatement statement = connection.prepareStatement(delete)) {
            for (Map.Entry<String, Long> row :
                    rows(connection, from, before, most).entrySet()) {
                bindName(statement, 1, row.getKey());
                statement.setLong(2, row.getValue());
                removed += statement.executeUpdate();
            }
        }
        return removed;
    }

    private Map<String, Long> rows(Connection connection, long from, long before, int most) throws SQLException {
        Map<String, Long> found = new LinkedHashMap<>();
        String sql = "SELECT name, token FROM " + table + " WHERE token >= ? AND token < ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setMaxRows(most);
            statement.setLong(1, from);
            statement.setLong(2, before);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.put(names().text(rows, 1), rows.getLong(2));
                }
            }
        }
        return found;
    }

    private long last(Connection connection, String resource, long otherwise, String lock) throws SQLException {
        String sql = "SELECT token FROM " + table + " WHERE name = ?" + lock;
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bindName(statement, 1, resource);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getLong(1) : otherwise;
            }
        }
    }

    private void bindName(PreparedStatement statement, int index, String name) throws SQLException {
        names().bind(statement, index, name);
    }

    // In other products the fence table has the names as plain text, unlike the store's own rows.
    private NameEncoding names() {
        return product == SqlProduct.OTHER ? NameEncoding.TEXT : product.names();
    }
}
