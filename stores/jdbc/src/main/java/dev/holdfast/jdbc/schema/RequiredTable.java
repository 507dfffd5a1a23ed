package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.row.ColumnNeed;
import dev.holdfast.jdbc.row.ColumnType.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What {@code holdfast_lock} must be for our statements to be right. Whatever does no harm may differ: wider types, further
 * columns that need no value, further indexes.
 */
public final class RequiredTable {

    private static final int CLOCK = 64;
    private static final int HOLDER = 100;
    /** More than any owner takes. */
    private static final int OWNER = 16_000;
    /** A queue of some thousand. */
    private static final int OTHERS = 1 << 20;

    private final Map<String, ColumnNeed> needs = new LinkedHashMap<>();

    /** @param name what the column of the names must be */
    RequiredTable(ColumnNeed name) {
        ColumnNeed number = new ColumnNeed(Kind.INTEGER, Integer.SIZE);
        ColumnNeed large = new ColumnNeed(Kind.INTEGER, Long.SIZE);
        needs.put("name", name);
        needs.put("version", large);
        needs.put("counter", large);
        needs.put("clock", new ColumnNeed(Kind.TEXT, CLOCK));
        needs.put("holder", new ColumnNeed(Kind.TEXT, HOLDER));
        needs.put("held", large);
        needs.put("permits", number);
        needs.put("capacity", number);
        needs.put("since", large);
        needs.put("expires", large);
        needs.put("owner", new ColumnNeed(Kind.TEXT, OWNER));
        needs.put("more", number);
        needs.put("others", new ColumnNeed(Kind.TEXT, OTHERS));
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
