package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.config.SqlName;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The names of a store's tables. In the SQL of this store {@code holdfast_lock}, {@code holdfast_schema} and {@code
 * holdfast_node} stand for them.
 *
 * @param lock the table of the locks
 * @param schema the table with the version of their format
 * @param node the table that says since when a node of a quorum has kept its data, where there is one; else empty
 */
public record LockTables(String lock, String schema, String node) {

    private static final String LOCK = "holdfast_lock";
    private static final String SCHEMA = "holdfast_schema";
    private static final String NODE = "holdfast_node";
    private static final Pattern ANY = Pattern.compile(LOCK + "|" + SCHEMA + "|" + NODE);

    public static final LockTables STANDARD = new LockTables(LOCK, SCHEMA, NODE);

    /**
     * The table of this name, and in the same database schema those whose names have {@code _schema} and {@code _node} at their
     * ends; {@code holdfast_schema} and {@code holdfast_node} for {@code holdfast_lock}.
     *
     * @param lock the name; null for the standard one
     */
    public static LockTables of(@Nullable SqlName lock) {
        if (lock == null) {
            return STANDARD;
        }
        String text = lock.text();
        // Many databases ignore case: whoever writes it in another one shares the second table, too.
        String lower = text.toLowerCase(Locale.ROOT);
        if (lower.equals(LOCK) || lower.endsWith("." + LOCK)) {
            String place = text.substring(0, text.length() - LOCK.length());
            return new LockTables(text, place + SCHEMA, place + NODE);
        }
        return new LockTables(
                text, lock.with("_schema").text(), lock.with("_node").text());
    }

    /** The same without a table for nodes, for locks that no node of a quorum keeps. */
    public LockTables withoutNode() {
        return new LockTables(lock, schema, "");
    }

    /** Whether there is a table for nodes, where the database can be one. */
    public boolean hasNode() {
        return !node.isEmpty();
    }

    /** The name of the table of the locks without a schema and quotes. */
    String label() {
        return SqlName.table(lock).label();
    }

    /** A statement or a message with the names of these tables. */
    public String in(String text) {
        return equals(STANDARD)
                ? text
                : ANY.matcher(text).replaceAll(found -> Matcher.quoteReplacement(named(found.group())));
    }

    private String named(String standard) {
        return switch (standard) {
            case LOCK -> lock;
            case SCHEMA -> schema;
            default -> node;
        };
    }
}
