package dev.holdfast.fence.jdbc;

import dev.holdfast.jdbc.config.SqlName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A table of the user's whose rows are written only if nobody wrote them since they were read.
 *
 * <pre>{@code
 * VersionedTable stock = VersionedTable.of("stock", "sku").byVersion("version");
 * // UPDATE stock SET quantity = ?, version = version + 1 WHERE sku = ? AND version = ?
 *
 * VersionedTable items = VersionedTable.of("item", "id").byValue("num");
 * // UPDATE item SET num = ? WHERE id = ? AND num = ?
 * }</pre>
 *
 * <p>One attempt is {@link Row#tryUpdate}; {@link OptimisticUpdate} makes as many as are needed.
 *
 * <p><b>Guarantee.</b> A write is computed from the values that the row had at the moment of the write: no update is
 * lost, as long as all who write the row compare it, too, or lock it. This holds in autocommit and at every
 * isolation level.
 *
 * <p><b>Not guaranteed.</b> With {@link Keyed#byValue}, a value that was changed and changed back is not noticed.
 * That does no harm, since a change may read compared columns only; a change that reads another column is refused. A
 * floating-point number does not always equal the value that was read from it: compare whole numbers, decimals and
 * text.
 *
 * <p>Names of tables and columns are checked. Immutable and thread-safe; connections are the caller's.
 */
public final class VersionedTable {

    private final SqlName table;
    private final List<SqlName> keys;
    /** The columns that are compared. */
    private final List<SqlName> compared;

    private final boolean counted;

    private VersionedTable(SqlName table, List<SqlName> keys, List<SqlName> compared, boolean counted) {
        this.table = table;
        this.keys = keys;
        this.compared = compared;
        this.counted = counted;
        for (SqlName column : compared) {
            if (keys.stream().anyMatch(column::isSame)) {
                throw new IllegalArgumentException("The column " + column + " is part of the key already");
            }
        }
    }

    /**
     * Begins with a table and its key.
     *
     * @param table its name, with or without a schema: letters, digits and {@code _}, or in quotes
     * @param keys the columns of a key, which together are unique
     * @throws IllegalArgumentException if a name is not one, or a column is named twice
     */
    public static Keyed of(String table, String... keys) {
        return new Keyed(SqlName.table(table), SqlName.columns(keys));
    }

    /** A table for which it must still be chosen how its rows are compared. */
    public static final class Keyed {

        private final SqlName table;
        private final List<SqlName> keys;

        private Keyed(SqlName table, List<SqlName> keys) {
            this.table = table;
            this.keys = keys;
        }

        /** Compares a version column: a whole number, not null, that grows by one with each write. */
        public VersionedTable byVersion(String column) {
            return new VersionedTable(table, keys, SqlName.columns(column), true);
        }

        /** Compares the values of columns. They must include all columns that changes read. */
        public VersionedTable byValue(String... columns) {
            return new VersionedTable(table, keys, SqlName.columns(columns), false);
        }
    }

    /**
     * Computes the new values of a row. It may be called several times with newer values, so it must have no side
     * effects.
     */
    @FunctionalInterface
    public interface Change {

        /**
         * Returns what to write.
         *
         * @return new values by column; empty if there is nothing to change
         */
        Map<String, ? extends @Nullable Object> of(Values now);
    }

    /** The outcome of one attempt. */
    public enum Outcome {
        /** The row was written. */
        WRITTEN,
        /** The change was empty. */
        UNCHANGED,
        /** Another wrote the row after it was read; nothing was written. */
        CONFLICT
    }

    /** The columns of a row as they were read. Names are compared without regard to case. */
    public static final class Values {

        private final Map<String, @Nullable Object> values = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        /** The columns that a change may read; empty for all. */
        private final List<SqlName> readable;

        private Values(ResultSet row, List<SqlName> readable) throws SQLException {
            this.readable = readable;
            ResultSetMetaData columns = row.getMetaData();
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                values.put(columns.getColumnLabel(i), row.getObject(i));
            }
        }

        /**
         * The value of a column as the driver gives it; null if it is NULL.
         *
         * @throws IllegalArgumentException if there is no such column, or it is not compared
         */
        public @Nullable Object get(String column) {
            if (!values.containsKey(column)) {
                throw new IllegalArgumentException("There is no column " + column + "; there are " + values.keySet());
            }
            if (!readable.isEmpty()
                    && readable.stream().noneMatch(may -> may.label().equalsIgnoreCase(column))) {
                throw new IllegalArgumentException("The change reads column " + column + ", which is not compared, so"
                        + " that another's write to it would not be noticed: name it in byValue, or use byVersion");
            }
            return values.get(column);
        }

        /**
         * A whole number.
         *
         * @throws IllegalArgumentException if it is NULL or no number
         */
        public long getLong(String column) {
            if (get(column) instanceof Number number) {
                return number.longValue();
            }
            throw new IllegalArgumentException("Column " + column + " has no number but " + values.get(column));
        }

        /**
         * A whole number.
         *
         * @throws ArithmeticException if it is too large
         */
        public int getInt(String column) {
            return Math.toIntExact(getLong(column));
        }

        /** A text; null if it is NULL. */
        public @Nullable String getString(String column) {
            Object value = get(column);
            return value == null ? null : value.toString();
        }

        private @Nullable Object raw(SqlName column) {
            return values.get(column.label());
        }

        private boolean has(SqlName column) {
            return values.containsKey(column.label());
        }

        @Override
        public String toString() {
            return values.toString();
        }
    }

    /**
     * One of its rows.
     *
     * @param keyValues a value for each key column, not null
     * @throws IllegalArgumentException if there are more or fewer values than key columns
     */
    public Row row(Object... keyValues) {
        return new Row(RowKey.of(keys, keyValues));
    }

    /** A row of the table. Immutable. */
    public final class Row {

        private final RowKey key;

        private Row(RowKey key) {
            this.key = key;
        }

        /**
         * Reads the row, computes the change, and writes it unless another wrote the row meanwhile. Two statements.
         *
         * @throws NoSuchElementException if there is no such row
         * @throws IllegalArgumentException if the change names a column that is not one, or a key, or the version, or reads
         *     one that is not compared
         * @throws IllegalStateException if several rows have the key, or the version is NULL
         */
        public Outcome tryUpdate(Connection connection, Change change) throws SQLException {
            Values now = read(connection);
            Map<String, ? extends @Nullable Object> next = change.of(now);
            if (next.isEmpty()) {
                return Outcome.UNCHANGED;
            }
            List<SqlName> written = new ArrayList<>();
            List<@Nullable Object> parameters = new ArrayList<>();
            for (Map.Entry<String, ? extends @Nullable Object> entry : next.entrySet()) {
                written.add(writable(entry.getKey(), now));
                parameters.add(entry.getValue());
            }
            String sql = sql(written, now, parameters);
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < parameters.size(); i++) {
                    statement.setObject(i + 1, parameters.get(i));
                }
                int rows = statement.executeUpdate();
                if (rows > 1) {
                    throw severalRows();
                }
                return rows == 1 ? Outcome.WRITTEN : Outcome.CONFLICT;
            }
        }

        private Values read(Connection connection) throws SQLException {
            String sql = "SELECT * FROM " + table + " WHERE " + key.condition();
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                key.bind(statement, 1);
                try (ResultSet rows = statement.executeQuery()) {
                    if (!rows.next()) {
                        throw new NoSuchElementException("Table " + table + " has no row with " + key);
                    }
                    Values now = new Values(rows, readable());
                    if (rows.next()) {
                        throw severalRows();
                    }
                    return now;
                }
            }
        }

        private List<SqlName> readable() {
            if (counted) {
                return List.of();
            }
            List<SqlName> readable = new ArrayList<>(keys);
            readable.addAll(compared);
            return readable;
        }

        private SqlName writable(String name, Values now) {
            SqlName column = SqlName.column(name);
            boolean fixed = keys.stream().anyMatch(column::isSame)
                    || (counted && compared.stream().anyMatch(column::isSame));
            if (fixed || !now.has(column)) {
                throw new IllegalArgumentException("A change of table " + table + " cannot write " + name + ": it is "
                        + (fixed ? "the key or the version" : "none of the columns " + now.values.keySet()));
            }
            return column;
        }

        private String sql(List<SqlName> written, Values now, List<@Nullable Object> parameters) {
            StringBuilder sql = new StringBuilder("UPDATE " + table + " SET ");
            written.forEach(column -> sql.append(column).append(" = ?, "));
            sql.setLength(sql.length() - 2);
            if (counted) {
                SqlName version = compared.get(0);
                sql.append(", ").append(version).append(" = ").append(version).append(" + 1");
            }
            sql.append(" WHERE ").append(key.condition());
            parameters.addAll(key.values());
            for (SqlName column : compared) {
                if (!now.has(column)) {
                    throw new IllegalArgumentException(
                            "Table " + table + " has no column " + column + "; it has " + now.values.keySet());
                }
                Object old = now.raw(column);
                if (old == null && counted) {
                    throw new IllegalStateException("The version " + column + " of the row " + key + " of table "
                            + table + " is NULL and would stay so: make the column NOT NULL DEFAULT 0");
                }
                sql.append(" AND ").append(column).append(old == null ? " IS NULL" : " = ?");
                if (old != null) {
                    parameters.add(old);
                }
            }
            return sql.toString();
        }

        private IllegalStateException severalRows() {
            return new IllegalStateException("Table " + table + " has several rows with " + key
                    + ". Roll back if you can, and give the columns of a unique key");
        }

        @Override
        public String toString() {
            return "row " + key + " of table " + table;
        }
    }

    @Override
    public String toString() {
        return "VersionedTable[" + table + ", key " + keys + ", " + (counted ? "version " : "compared ") + compared
                + "]";
    }
}
