package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.row.ColumnType.Kind;

/** What a column must be able to hold. */
public record ColumnNeed(Kind kind, long size) {

    /** The length of the longest name in bytes. No name has more characters than bytes. */
    private static final int NAME = 255;

    /** Names as bytes, which are compared without a collation. */
    public static final ColumnNeed NAME_BYTES = new ColumnNeed(Kind.BYTES, NAME);

    /** Names as text. */
    public static final ColumnNeed NAME_TEXT = new ColumnNeed(Kind.TEXT, NAME);

    /** Names as two hexadecimal digits for each byte. */
    public static final ColumnNeed NAME_DIGITS = new ColumnNeed(Kind.TEXT, 2 * NAME);

    public boolean isMetBy(ColumnType type) {
        return type.kind() == Kind.ANYTHING || (type.kind() == kind && type.size() >= size);
    }

    @Override
    public String toString() {
        return switch (kind) {
            case TEXT -> "text that is not filled up with blanks, of " + size + " characters or more";
            case BYTES -> "bytes that no collation compares, not filled up, " + size + " or more";
            default -> "a whole number with a sign, of " + size + " bits or more";
        };
    }
}
