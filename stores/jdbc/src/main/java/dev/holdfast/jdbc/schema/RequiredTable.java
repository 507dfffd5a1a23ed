package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.schema.ColumnType.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What {@code holdfast_lock} must be for our statements to be right. Whatever does no harm may differ: wider types, further
 * columns that need no value, further indexes.
 */
public final class RequiredTable {

    /** A name of the greatest length, in bytes and therefore also in characters. */
    private static final int NAME = 255;

    private static final int CLOCK = 64;
    private static final int HOLDER = 100;
    /** More than any owner takes. */
    private static final int OWNER = 16_000;
    /** A queue of some thousand. */
    private static final int OTHERS = 1 << 20;

    /** What a column must be able to hold. */
    public record Need(Kind kind, long size) {

        /** Names as bytes, which no collation compares. */
        public static final Need NAME_BYTES = new Need(Kind.BYTES, NAME);

        /** Names as text. */
        public static final Need NAME_TEXT = new Need(Kind.TEXT, NAME);

        /** Names as two hexadecimal digits for each byte. */
        public static final Need NAME_DIGITS = new Need(Kind.TEXT, 2 * NAME);

        boolean isMetBy(ColumnType type) {
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

    private final Map<String, Need> needs = new LinkedHashMap<>();

    /** @param name what the column of the names must be */
    RequiredTable(Need name) {
        Need number = new Need(Kind.INTEGER, Integer.SIZE);
        Need large = new Need(Kind.INTEGER, Long.SIZE);
        needs.put("name", name);
        needs.put("version", large);
        needs.put("counter", large);
        needs.put("clock", new Need(Kind.TEXT, CLOCK));
        needs.put("holder", new Need(Kind.TEXT, HOLDER));
        needs.put("held", large);
        needs.put("permits", number);
        needs.put("capacity", number);
        needs.put("since", large);
        needs.put("expires", large);
        needs.put("owner", new Need(Kind.TEXT, OWNER));
        needs.put("more", number);
        needs.put("others", new Need(Kind.TEXT, OTHERS));
    }

    /** What must be changed about a table, in words; none if it is right, or if the driver tells nothing of its columns. */
    List<String> differences(ActualTable found) {
        List<String> differences = new ArrayList<>();
        if (found.columns().isEmpty()) {
            return differences;
        }
        needs.forEach((name, need) -> {
            ActualTable.Column column = found.columns().get(name);
            if (column == null) {
                differences.add("column " + name + " is missing, expected " + need);
            } else if (!need.isMetBy(column.type())) {
                differences.add("column " + name + " is " + column.type() + ", expected " + need);
            } else if (!column.notNull()) {
                // A row with a NULL in it could neither be read nor be taken.
                differences.add("column " + name + " admits NULL, expected NOT NULL");
            }
        });
        found.columns().forEach((name, column) -> {
            if (!needs.containsKey(name) && column.notNull() && !column.filled()) {
                differences.add(
                        "column " + name + " is not of Holdfast and NOT NULL without a default, expected that rows"
                                + " can be inserted without it");
            }
        });
        if (!found.primaryKey().equals(List.of("name"))) {
            differences.add("the primary key is " + (found.primaryKey().isEmpty() ? "missing" : found.primaryKey())
                    + ", expected [name]");
        }
        return differences;
    }
}
