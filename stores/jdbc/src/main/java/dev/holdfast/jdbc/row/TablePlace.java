package dev.holdfast.jdbc.row;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * Where a table is that our statements call by its name alone, as the database itself finds it: another schema of the
 * search path, or another database of the server, may have one of the same name.
 *
 * @param catalog as JDBC has it; null if there is none, or it is not told
 * @param schema likewise
 */
public record TablePlace(@Nullable String catalog, @Nullable String schema, String table) {

    private static final String IN_POSTGRES = """
            SELECT n.nspname, c.relname FROM pg_catalog.pg_class AS c
            JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.oid = pg_catalog.to_regclass('holdfast_lock')
            """;

    /** Where {@code holdfast_lock} is, as the columns of a query tell. It fails as the query does if it is not there. */
    public static TablePlace ofQuery(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT * FROM holdfast_lock WHERE 1 = 0")) {
            ResultSetMetaData told = rows.getMetaData();
            String table = told.getTableName(1);
            return new TablePlace(
                    orNull(told.getCatalogName(1)),
                    orNull(told.getSchemaName(1)),
                    table == null || table.isBlank() ? "holdfast_lock" : table);
        }
    }

    /** Where {@code holdfast_lock} is in PostgreSQL, whose driver does not tell the schema of a query; null if nowhere. */
    public static @Nullable TablePlace inPostgres(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(IN_POSTGRES)) {
            return rows.next() ? new TablePlace(null, rows.getString(1), rows.getString(2)) : null;
        }
    }

    /** Whether it is the table that a row of metadata is about. */
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
