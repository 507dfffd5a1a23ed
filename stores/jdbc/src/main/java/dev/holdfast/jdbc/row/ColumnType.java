package dev.holdfast.jdbc.row;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Locale;

/**
 * What a column can hold, as far as it matters to this store.
 *
 * @param text the type as the database calls it, for messages
 * @param kind what the column holds
 * @param size how much it holds, in characters, bytes or bits
 */
public record ColumnType(String text, Kind kind, long size) {

    /** A size that the database does not report, or that has no limit. */
    static final long UNLIMITED = Long.MAX_VALUE;

    private static final double BITS_OF_A_DIGIT = 3.32;

    /** An INTEGER with at least so many digits has four bytes. One with fewer has three (MEDIUMINT). */
    private static final int DIGITS_OF_32_BITS = 9;

    /** The kinds of values that columns hold. */
    public enum Kind {
        /** Text of any length up to a limit, which is read as it was written. */
        TEXT,
        /** Bytes of any length up to a limit, which are read as they were written. */
        BYTES,
        /** Whole numbers with a sign. */
        INTEGER,
        /** Any value, as in SQLite. */
        ANYTHING,
        /**
         * A type that cannot be used here: text that is filled up with blanks, numbers without a sign, times, and so
         * on.
         */
        OTHER
    }

    /** The type of the column that the current row of {@link java.sql.DatabaseMetaData#getColumns} describes. */
    public static ColumnType of(ResultSet columns) throws SQLException {
        String name = String.valueOf(columns.getString("TYPE_NAME"));
        long size = columns.getLong("COLUMN_SIZE");
        int type = columns.getInt("DATA_TYPE");
        if (type == Types.DISTINCT) {
            type = columns.getInt("SOURCE_DATA_TYPE");
        }
        boolean hasFraction = columns.getInt("DECIMAL_DIGITS") != 0;
        return of(name, type, size <= 0 ? UNLIMITED : size, hasFraction);
    }

    private static ColumnType of(String name, int type, long size, boolean hasFraction) {
        String shown = size == UNLIMITED || size >= Integer.MAX_VALUE ? name : name + "(" + size + ")";
        if (name.toUpperCase(Locale.ROOT).contains("UNSIGNED")) {
            return new ColumnType(name, Kind.OTHER, size);
        }
        return switch (type) {
            case Types.VARCHAR, Types.NVARCHAR, Types.LONGVARCHAR, Types.LONGNVARCHAR, Types.CLOB, Types.NCLOB ->
                new ColumnType(shown, Kind.TEXT, size);
            case Types.VARBINARY, Types.LONGVARBINARY -> new ColumnType(shown, Kind.BYTES, size);
            case Types.BIGINT -> new ColumnType(name, Kind.INTEGER, Long.SIZE);
            case Types.INTEGER -> new ColumnType(name, Kind.INTEGER, size < DIGITS_OF_32_BITS ? 24 : Integer.SIZE);
            case Types.SMALLINT, Types.TINYINT -> new ColumnType(name, Kind.INTEGER, Short.SIZE);
            case Types.NUMERIC, Types.DECIMAL ->
                hasFraction
                        ? new ColumnType(shown, Kind.OTHER, size)
                        : new ColumnType(
                                shown, Kind.INTEGER, size == UNLIMITED ? size : (long) (size * BITS_OF_A_DIGIT));
            default -> new ColumnType(shown, Kind.OTHER, size);
        };
    }

    /** The type of a column in SQLite, where the declared type only says to which type a value is converted. */
    public static ColumnType ofSqlite(ResultSet columns) throws SQLException {
        String name = String.valueOf(columns.getString("TYPE_NAME"));
        String word = name.toUpperCase(Locale.ROOT);
        if (word.contains("INT")) {
            return new ColumnType(name, Kind.INTEGER, Long.SIZE);
        }
        if (word.contains("CHAR") || word.contains("CLOB") || word.contains("TEXT")) {
            return new ColumnType(name, Kind.TEXT, UNLIMITED);
        }
        if (word.isEmpty() || word.contains("BLOB")) {
            return new ColumnType(name, Kind.ANYTHING, UNLIMITED);
        }
        boolean isReal = word.contains("REAL") || word.contains("FLOA") || word.contains("DOUB");
        return new ColumnType(name, isReal ? Kind.OTHER : Kind.INTEGER, Long.SIZE);
    }

    @Override
    public String toString() {
        return text;
    }
}
