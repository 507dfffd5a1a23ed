package dev.holdfast.jdbc.row;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * The catalog and schema of a table that our statements use without a schema, as the database itself finds it:
 * another schema of the search path, or another database of the server, may have a table of the same name.
 *
 * @param catalog as JDBC reports it; null if there is none, or it is not reported
 * @param schema as JDBC reports it; null if there is none, or it is not reported
 */
public record TablePlace(@Nullable String catalog, @Nullable String schema, String table) {

    private static final String IN_POSTGRES = """
            SELECT n.nspname, c.relname FROM pg_catalog.pg_class AS c
            JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.oid = pg_catalog.to_regclass('holdfast_lock')
            """;

    /**
     * Finds {@code holdfast_lock} by the metadata of a query. If there is no such table, the query's failure is
     * thrown.
     */
    public static TablePlace ofQuery(Connection connection, LockTables tables) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(tables.in("SELECT * FROM holdfast_lock WHERE 1 = 0"))) {
            ResultSetMetaData metadata = rows.getMetaData();
            String table = metadata.getTableName(1);
            return new TablePlace(
                    orNull(metadata.getCatalogName(1)),
                    orNull(metadata.getSchemaName(1)),
                    table == null || table.isBlank() ? tables.label() : table);
        }
    }

    /**
     * Finds {@code holdfast_lock} in PostgreSQL, whose driver does not report the schema in the metadata of a query;
     * null if there is no such table.
     */
    public static @Nullable TablePlace inPostgres(Connection connection, LockTables tables) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(tables.in(IN_POSTGRES))) {
            return rows.next() ? new TablePlace(null, rows.getString(1), rows.getString(2)) : null;
        }
    }

    /** Whether this is the table that a row of metadata describes. */
    public boolean isOf(ResultSet metadata) throws SQLException {
        return table.equals(metadata.getString("TABLE_NAME"))
                && (catalog == null || catalog.equals(metadata.getString("TABLE_CAT")))
                && (schema == null || schema.equals(metadata.getString("TABLE_SCHEM")));
    }

    private static @Nullable String orNull(@Nullable String text) {
        return text == null || text.isBlank() ? null : text;
    }

    @Override
    public String toString() {
        String before = schema != null ? schema : catalog;
        return before == null ? table : before + "." + table;
    }
}
