package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HexFormat;

/**
 * How names are stored in a database so that they are compared byte by byte. The store writes names in this
 * encoding, and code that reads the store's rows in a user's transaction must use the same encoding.
 */
public enum NameEncoding {
    /** As text, in a column whose collation compares bytes. */
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

    /** As bytes, which are compared without a collation. */
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

    /** As two hexadecimal digits for each byte, which every collation compares in the same way. */
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

    /** Whether names are compared by the collation of their column. Otherwise they are always compared as bytes. */
    public boolean isCollated() {
        return this == TEXT;
    }
}
