package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
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
        public String text(ResultSet rows, int index) throws SQLException {
            return rows.getString(index);
        }
    },

    /** As bytes, which are compared without a collation. */
    BYTES {
        @Override
        public void bind(PreparedStatement statement, int index, String name) throws SQLException {
            statement.setBytes(index, name.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String text(ResultSet rows, int index) throws SQLException {
            return decoded(rows.getBytes(index));
        }
    },

    /** As two hexadecimal digits for each byte, which every collation compares in the same way. */
    DIGITS {
        @Override
        public void bind(PreparedStatement statement, int index, String name) throws SQLException {
            statement.setString(index, HexFormat.of().formatHex(name.getBytes(StandardCharsets.UTF_8)));
        }

        @Override
        public String text(ResultSet rows, int index) throws SQLException {
            return decoded(HexFormat.of().parseHex(rows.getString(index)));
        }
    };

    public abstract void bind(PreparedStatement statement, int index, String name) throws SQLException;

    /**
     * The name as text, which may be none that a lock can have: somebody else wrote the row.
     *
     * @throws IllegalArgumentException if it is no text
     */
    public abstract String text(ResultSet rows, int index) throws SQLException;

    /** @throws IllegalArgumentException if no lock can have this name */
    final LockName read(ResultSet rows, int index) throws SQLException {
        return new LockName(text(rows, index));
    }

    private static String decoded(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        if (text.indexOf('\uFFFD') >= 0 && !Arrays.equals(bytes, text.getBytes(StandardCharsets.UTF_8))) {
            throw new IllegalArgumentException(
                    "A name is not UTF-8: " + HexFormat.of().formatHex(bytes));
        }
        return text;
    }

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
