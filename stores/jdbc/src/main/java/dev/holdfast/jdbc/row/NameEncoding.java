package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HexFormat;

/**
 * How a database keeps names so that they are compared byte by byte. The store writes them so, and whoever reads the store's
 * rows in a transaction of a user's must look for them so.
 */
public enum NameEncoding {
    /** As text, of a column whose collation compares bytes. */
    TEXT {
        @Override
        public void bind(PreparedStatement statement, int index, String name) throws SQLException {
            statement.setString(index, name);
        }

        @Override
        LockName read(ResultSet rows, int index) throws SQLException {
            return new LockName(rows.getString(index));
        }
    },

    /** As bytes, which no collation compares. */
    BYTES {
        @Override
        public void bind(PreparedStatement statement, int index, String name) throws SQLException {
            statement.setBytes(index, name.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        LockName read(ResultSet rows, int index) throws SQLException {
            return new LockName(new String(rows.getBytes(index), StandardCharsets.UTF_8));
        }
    },

    /** As two hexadecimal digits for each byte, which any collation compares alike. */
    DIGITS {
        @Override
        public void bind(PreparedStatement statement, int index, String name) throws SQLException {
            statement.setString(index, HexFormat.of().formatHex(name.getBytes(StandardCharsets.UTF_8)));
        }

        @Override
        LockName read(ResultSet rows, int index) throws SQLException {
            return new LockName(new String(HexFormat.of().parseHex(rows.getString(index)), StandardCharsets.UTF_8));
        }
    };

    public abstract void bind(PreparedStatement statement, int index, String name) throws SQLException;

    abstract LockName read(ResultSet rows, int index) throws SQLException;

    /** What the column of the names must be able to hold. */
    public ColumnNeed column() {
        return switch (this) {
            case TEXT -> ColumnNeed.NAME_TEXT;
            case BYTES -> ColumnNeed.NAME_BYTES;
            case DIGITS -> ColumnNeed.NAME_DIGITS;
        };
    }

    /** Whether names are compared as the collation of their column says; else as bytes in any case. */
    public boolean isCollated() {
        return this == TEXT;
    }
}
