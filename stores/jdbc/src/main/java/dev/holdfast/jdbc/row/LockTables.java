package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.config.SqlName;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The names of a store's two tables. In the SQL of this store {@code holdfast_lock} and {@code holdfast_schema} stand for
 * them.
 *
 * @param lock the table of the locks
 * @param schema the table with the version of their format
 */
public record LockTables(String lock, String schema) {

    private static final String LOCK = "holdfast_lock";
    private static final String SCHEMA = "holdfast_schema";
    private static final Pattern EITHER = Pattern.compile(LOCK + "|" + SCHEMA);

    public static final LockTables STANDARD = new LockTables(LOCK, SCHEMA);

    /**
     * The table of this name, and in the same database schema one whose name has {@code _schema} at its end; {@code
     * holdfast_schema} for {@code holdfast_lock}.
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
        return lower.equals(LOCK) || lower.endsWith("." + LOCK)
                ? new LockTables(text, text.substring(0, text.length() - LOCK.length()) + SCHEMA)
                : new LockTables(text, lock.with("_schema").text());
    }

    /** The name of the table of the locks without a schema and quotes. */
    String label() {
        return SqlName.table(lock).label();
    }

    /** A statement or a message with the names of these tables. */
    public String in(String text) {
        return equals(STANDARD)
                ? text
                : EITHER.matcher(text)
                        .replaceAll(
                                found -> Matcher.quoteReplacement(found.group().equals(LOCK) ? lock : schema));
    }
}
