package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.row.ColumnType;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.jdbc.row.TablePlace;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code holdfast_lock} as the database describes it.
 *
 * @param columns by their names in small letters; none if the driver does not report them
 * @param primaryKey the columns of the key, in order and in small letters
 */
record ActualTable(TablePlace place, Map<String, Column> columns, List<String> primaryKey) {

    /**
     * A column.
     *
     * @param jdbcType the type as one of {@link java.sql.Types}
     * @param typeName the type as the database calls it, without its size
     * @param notNull whether it refuses NULL
     * @param filled whether the database fills it by itself if a row is inserted without it
     */
    record Column(ColumnType type, int jdbcType, String typeName, boolean notNull, boolean filled) {}

    // UNION removes duplicates, so names that the collation takes for equal become one row.
    private static final String ORDER = """
            SELECT name FROM holdfast_lock WHERE 1 = 0 UNION SELECT 'a ' UNION SELECT 'a' UNION SELECT 'B' UNION SELECT '_'
            UNION SELECT 'A' ORDER BY 1
            """;

    /** The result of {@link #ORDER} where texts are compared byte by byte. */
    private static final List<String> OF_BYTES = List.of("A", "B", "_", "a", "a ");

    /** Reads the description of the table that our statements find; null if there is none. */
    static @Nullable ActualTable read(Connection connection, Dialect dialect) throws SQLException {
        return read(connection, dialect, dialect.tables());
    }

    /** The same for the first of other tables. */
    static @Nullable ActualTable read(Connection connection, Dialect dialect, LockTables tables) throws SQLException {
        TablePlace place = place(connection, dialect, tables);
        if (place == null) {
            return null;
        }
        DatabaseMetaData metadata = connection.getMetaData();
        try {
            Map<String, Column> columns = new TreeMap<>();
            boolean isOne = readColumns(metadata, place, dialect, columns);
            if (!isOne || columns.isEmpty()) {
                return new ActualTable(place, Map.of(), List.of());
            }
            return new ActualTable(place, columns, primaryKey(metadata, place));
        } catch (SQLFeatureNotSupportedException notSupported) {
            return new ActualTable(place, Map.of(), List.of());
        }
    }

    private static @Nullable TablePlace place(Connection connection, Dialect dialect, LockTables tables)
            throws SQLException {
        try {
            return dialect.place(connection, tables);
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                return null;
            }
            throw failure;
        }
    }

    // The driver takes the names as patterns, in which _ is any character, so it may report columns of several
    // tables. If it does not report where this one is, the columns may be those of several tables: then the result
    // is false.
    private static boolean readColumns(
            DatabaseMetaData metadata, TablePlace place, Dialect dialect, Map<String, Column> columns)
            throws SQLException {
        boolean isOne = true;
        try (ResultSet rows = metadata.getColumns(place.catalog(), place.schema(), place.table(), null)) {
            while (rows.next()) {
                if (place.isOf(rows)) {
                    isOne &= null == columns.put(lower(rows.getString("COLUMN_NAME")), column(rows, dialect));
                }
            }
        }
        return isOne;
    }

    private static Column column(ResultSet rows, Dialect dialect) throws SQLException {
        ColumnType type = dialect.type(rows);
        boolean notNull = rows.getInt("NULLABLE") == DatabaseMetaData.columnNoNulls;
        boolean filled = rows.getString("COLUMN_DEF") != null
                || "YES".equals(rows.getString("IS_AUTOINCREMENT"))
                || "YES".equals(rows.getString("IS_GENERATEDCOLUMN"));
        return new Column(type, rows.getInt("DATA_TYPE"), String.valueOf(rows.getString("TYPE_NAME")), notNull, filled);
    }

    private static List<String> primaryKey(DatabaseMetaData metadata, TablePlace place) throws SQLException {
        Map<Integer, String> columns = new TreeMap<>();
        try (ResultSet rows = metadata.getPrimaryKeys(place.catalog(), place.schema(), place.table())) {
            while (rows.next()) {
                if (place.isOf(rows)) {
                    columns.put(rows.getInt("KEY_SEQ"), lower(rows.getString("COLUMN_NAME")));
                }
            }
        }
        return List.copyOf(columns.values());
    }

    /**
     * Whether the database compares names as bytes. To find out, it sorts some texts with the collation of the
     * column.
     */
    static boolean comparesBytes(Connection connection, Dialect dialect) throws SQLException {
        List<String> sorted = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(dialect.sql(ORDER))) {
            while (rows.next()) {
                sorted.add(rows.getString(1));
            }
        }
        return sorted.equals(OF_BYTES);
    }

    private static String lower(@Nullable String name) {
        return String.valueOf(name).toLowerCase(Locale.ROOT);
    }
}
