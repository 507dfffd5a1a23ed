package dev.holdfast.jdbc.config;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The name of a table or a column that a user gave, checked before it becomes part of a statement, because a name cannot
 * be a parameter. Plain names are letters, digits and {@code _}; a name in {@code "quotes"} or {@code `quotes`} may have
 * any characters but quotes, backslashes and control characters. A table may have a schema and a catalog before it.
 */
public record SqlName(String text) {

    private static final String PART =
            "[A-Za-z_][A-Za-z0-9_]{0,127}|\"[^\"'`\\\\\\p{Cntrl}]{1,128}\"|`[^\"'`\\\\\\p{Cntrl}]{1,128}`";

    private static final Pattern COLUMN = Pattern.compile(PART);

    private static final Pattern TABLE = Pattern.compile("(" + PART + ")(\\.(" + PART + ")){0,2}");

    /**
     * The name of a table.
     *
     * @throws IllegalArgumentException if it is not the name of a table, with or without a schema
     */
    public static SqlName table(String text) {
        return checked(TABLE, text, "table");
    }

    /**
     * The name of a column.
     *
     * @throws IllegalArgumentException if it is not the name of a column
     */
    public static SqlName column(String text) {
        return checked(COLUMN, text, "column");
    }

    /**
     * The names of columns.
     *
     * @throws IllegalArgumentException if there is none, or one is not the name of a column, or is named twice
     */
    public static List<SqlName> columns(String... texts) {
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

    /** The last part of the name as it is in a result set, without quotes and without a schema. */
    public String label() {
        String last = text.substring(lastPart());
        boolean quoted = last.startsWith("\"") || last.startsWith("`");
        return quoted ? last.substring(1, last.length() - 1) : last;
    }

    /** The same name with something behind its last part, in the same schema. */
    public SqlName with(String suffix) {
        char end = text.charAt(text.length() - 1);
        return end == '"' || end == '`'
                ? new SqlName(text.substring(0, text.length() - 1) + suffix + end)
                : new SqlName(text + suffix);
    }

    public boolean isSame(SqlName other) {
        return label().equalsIgnoreCase(other.label());
    }

    // A name in quotes may have dots.
    private int lastPart() {
        char end = text.charAt(text.length() - 1);
        return end == '"' || end == '`' ? text.lastIndexOf(end, text.length() - 2) : text.lastIndexOf('.') + 1;
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
