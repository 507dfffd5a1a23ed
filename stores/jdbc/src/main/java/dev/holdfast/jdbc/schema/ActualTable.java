package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.row.ColumnType;
import dev.holdfast.jdbc.row.Dialect;
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
 * @param columns by their names in small letters; none if the driver does not tell
 * @param primaryKey the columns of the key, in order and in small letters
 */
record ActualTable(TablePlace place, Map<String, Column> columns, List<String> primaryKey) {

    /**
     * A column.
     *
     * @param notNull whether it refuses NULL
     * @param filled whether the database fills it by itself if a row is inserted without it
     */
    record Column(ColumnType type, boolean notNull, boolean filled) {}

    // A set, so that what the collation takes for equal is one.
    private static final String ORDER = """
            SELECT name FROM holdfast_lock WHERE 1 = 0 UNION SELECT 'a ' UNION SELECT 'a' UNION SELECT 'B' UNION SELECT '_'
            UNION SELECT 'A' ORDER BY 1
            """;

    /** What {@link #ORDER} gives where texts are compared byte by byte. */
    private static final List<String> OF_BYTES = List.of("A", "B", "_", "a", "a ");

    /** Looks at the table that our statements find; null if there is none. */
    static @Nullable ActualTable read(Connection connection, Dialect dialect) throws SQLException {
        TablePlace place = place(connection, dialect);
        if (place == null) {
            return null;
        }
        DatabaseMetaData told = connection.getMetaData();
        try {
            Map<String, Column> columns = new TreeMap<>();
            boolean isOne = readColumns(told, place, dialect, columns);
            if (!isOne || columns.isEmpty()) {
                return new ActualTable(place, Map.of(), List.of());
            }
            return new ActualTable(place, columns, primaryKey(told, place));
        } catch (SQLFeatureNotSupportedException tellsNothing) {
            return new ActualTable(place, Map.of(), List.of());
        }
    }

    private static @Nullable TablePlace place(Connection connection, Dialect dialect) throws SQLException {
        try {
            return dialect.place(connection);
        } catch (SQLException failure) {
            if (dialect.isMissing(failure)) {
                return null;
            }
            throw failure;
        }
    }

    // The driver takes the names for patterns, in which _ is any character, so it may tell of more tables than one.
    // If it does not say where this one is, there may be several of them: false.
    private static boolean readColumns(
            DatabaseMetaData told, TablePlace place, Dialect dialect, Map<String, Column> columns) throws SQLException {
        boolean isOne = true;
        try (ResultSet rows = told.getColumns(place.catalog(), place.schema(), place.table(), null)) {
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
        return new Column(type, notNull, filled);
    }

    private static List<String> primaryKey(DatabaseMetaData told, TablePlace place) throws SQLException {
        Map<Integer, String> columns = new TreeMap<>();
        try (ResultSet rows = told.getPrimaryKeys(place.catalog(), place.schema(), place.table())) {
            while (rows.next()) {
                if (place.isOf(rows)) {
                    columns.put(rows.getInt("KEY_SEQ"), lower(rows.getString("COLUMN_NAME")));
                }
            }
        }
        return List.copyOf(columns.values());
    }

    /** Whether the database compares names as bytes; it is asked to sort some, as it sorts the column. */
    static boolean comparesBytes(Connection connection) throws SQLException {
        List<String> sorted = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(ORDER)) {
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
