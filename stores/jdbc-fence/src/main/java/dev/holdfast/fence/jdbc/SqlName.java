package dev.holdfast.fence.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The name of a table or a column that a user gave, checked before it becomes part of a statement, because a name cannot
 * be a parameter. Plain names are letters, digits and {@code _}; a name in {@code "quotes"} or {@code `quotes`} may have
 * any characters but quotes, backslashes and control characters. A table may have a schema and a catalog before it.
 */
record SqlName(String text) {

    private static final String PART =
            "[A-Za-z_][A-Za-z0-9_]{0,127}|\"[^\"`\\\\\\p{Cntrl}]{1,128}\"|`[^\"`\\\\\\p{Cntrl}]{1,128}`";

    private static final Pattern COLUMN = Pattern.compile(PART);

    private static final Pattern TABLE = Pattern.compile("(" + PART + ")(\\.(" + PART + ")){0,2}");

    /** @throws IllegalArgumentException if it is not the name of a table, with or without a schema */
    static SqlName table(String text) {
        return checked(TABLE, text, "table");
    }

    /** @throws IllegalArgumentException if it is not the name of a column */
    static SqlName column(String text) {
        return checked(COLUMN, text, "column");
    }

    /** @throws IllegalArgumentException if there is none, or one is not the name of a column, or is named twice */
    static List<SqlName> columns(String... texts) {
        List<SqlName> columns = new ArrayList<>();
        for (String text : texts) {
            SqlName column = column(text);
            if (columns.stream().anyMatch(column::isSame)) {
                throw new IllegalArgumentException("The column " + text + " is named twice");
            }
            columns.add(column);
        }
        if (columns.isEmpty()) {
            throw new IllegalArgumentException("At least one column must be named");
        }
        return List.copyOf(columns);
    }

    /** The name as it is in a result set, without quotes. */
    String label() {
        boolean quoted = text.startsWith("\"") || text.startsWith("`");
        return quoted ? text.substring(1, text.length() - 1) : text;
    }

    boolean isSame(SqlName other) {
        return label().equalsIgnoreCase(other.label());
    }

    private static SqlName checked(Pattern pattern, String text, String what) {
        if (!pattern.matcher(text).matches()) {
            throw new IllegalArgumentException("The name of a " + what
                    + " consists of letters, digits and _, or stands in quotes, but was: " + text);
        }
        return new SqlName(text);
    }

    @Override
    public String toString() {
        return text;
    }
}
