package dev.holdfast.jdbc.schema;

import dev.holdfast.jdbc.row.ColumnNeed;
import dev.holdfast.jdbc.row.ColumnType.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What our statements require of {@code holdfast_lock}. Differences that do no harm are allowed: wider types,
 * further columns that need no value, further indexes.
 */
public final class RequiredTable {

    /** The length of the longest name of a clock. */
    private static final int CLOCK = 64;
    /** The length of the column for a claim's id. */
    private static final int HOLDER = 100;
    /** The length of the column of an owner, which is more than any owner needs. */
    private static final int OWNER = 16_000;
    /** The length of the column of the entries, which is enough for a queue of some thousand claims. */
    private static final int OTHERS = 1 << 20;

    private final Map<String, ColumnNeed> needs = new LinkedHashMap<>();

    /** @param name what is required of the column of the names */
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

    /** The differences of a table, as text; none if it is right, or if the driver does not report its columns. */
    List<String> differences(ActualTable actual) {
        List<String> differences = new ArrayList<>();
        if (actual.columns().isEmpty()) {
            return differences;
        }
        needs.forEach((name, need) -> {
            ActualTable.Column column = actual.columns().get(name);
            if (column == null) {
                differences.add("column " + name + " is missing, expected " + need);
            } else if (!need.isMetBy(column.type())) {
                differences.add("column " + name + " is " + column.type() + ", expected " + need);
            } else if (!column.notNull()) {
                // A row with a NULL in it could not be read, and no lock could be acquired in it.
                differences.add("column " + name + " admits NULL, expected NOT NULL");
            }
        });
        actual.columns().forEach((name, column) -> {
            if (!needs.containsKey(name) && column.notNull() && !column.filled()) {
                differences.add(
                        "column " + name + " is not of Holdfast and NOT NULL without a default, expected that rows"
                                + " can be inserted without it");
            }
        });
        if (!actual.primaryKey().equals(List.of("name"))) {
            differences.add("the primary key is " + (actual.primaryKey().isEmpty() ? "missing" : actual.primaryKey())
                    + ", expected [name]");
        }
        return differences;
    }
}
