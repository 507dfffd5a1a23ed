package dev.holdfast.jdbc.config;

import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How other programs keep their locks in a table of theirs, as the options of a URL describe it.
 *
 * @param form what they do with a row
 * @param table their table
 * @param name the column with the name of the lock, which is unique
 * @param flag the column that says whether a lock is held; null if the row itself says so
 * @param free the value of the flag of a free lock
 * @param held the value of the flag of a held lock
 * @param owner the column in which a holder writes who it is; null if there is none
 * @param time the column in which a holder writes when it took the lock, or when it last showed that it lives; null if
 *     there is none
 * @param isUtc whether a time without a zone is in UTC, or else in the zone of the session; null if this was not said
 * @param deadAfter how old that time is when its holder counts as dead; null if no holder of theirs ever does
 */
public record AdoptedLayout(
        Form form,
        SqlName table,
        SqlName name,
        @Nullable SqlName flag,
        String free,
        String held,
        @Nullable SqlName owner,
        @Nullable SqlName time,
        @Nullable Boolean isUtc,
        @Nullable Duration deadAfter) {

    /** The longest name of their table whose companions have names that every database accepts. */
    private static final int MAX_TABLE = 47;

    private static final Duration LEAST_DEAD_AFTER = Duration.ofSeconds(2);

    /** What the programs do with a row. */
    public enum Form {
        /** Who takes the lock inserts the row, and deletes it to release. */
        INSERT,
        /** The rows are always there; who takes the lock sets a flag, and resets it to release. */
        FLAG;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Takes the options of a layout out of those of a URL.
     *
     * @return null for the usual layout
     * @throws IllegalArgumentException if one is wrong, or does not fit the others
     */
    static @Nullable AdoptedLayout takeFrom(Map<String, String> values) {
        String layout = values.remove("layout");
        String table = text(values, "theirTable");
        String name = text(values, "nameColumn");
        String flag = text(values, "flagColumn");
        String free = text(values, "free");
        String held = text(values, "held");
        String owner = text(values, "ownerColumn");
        String time = text(values, "timeColumn");
        String zone = values.remove("timeZone");
        String deadAfter = values.remove("deadAfter");
        if (layout == null || layout.equals("record")) {
            require(
                    Stream.of(table, name, flag, free, held, owner, time, zone, deadAfter)
                            .allMatch(option -> option == null),
                    "Options theirTable, nameColumn, flagColumn, free, held, ownerColumn, timeColumn, timeZone and deadAfter"
                            + " describe the table of layout=insert or layout=flag, but no such layout was given");
            return null;
        }
        require(
                layout.equals("insert") || layout.equals("flag"),
                "Option layout must be one of record, insert, flag, but was \"" + layout + "\"");
        require(table != null, "layout=" + layout + " needs the option theirTable: the table of the other programs");
        boolean isFlag = layout.equals("flag");
        require(
                isFlag == (flag != null) && (isFlag || (free == null && held == null)),
                isFlag
                        ? "layout=flag needs the option flagColumn: the column that says whether a lock is held"
                        : "Options flagColumn, free and held are for layout=flag; with layout=insert the row itself is the lock");
        AdoptedLayout read = new AdoptedLayout(
                isFlag ? Form.FLAG : Form.INSERT,
                named("theirTable", table, true),
                named("nameColumn", name == null ? "name" : name, false),
                flag == null ? null : named("flagColumn", flag, false),
                free == null ? "0" : free,
                held == null ? heldUnless(free) : held,
                owner == null ? null : named("ownerColumn", owner, false),
                time == null ? null : named("timeColumn", time, false),
                zone == null ? null : isUtc(zone),
                deadAfter == null ? null : OptionTimes.parse("deadAfter", deadAfter));
        read.check();
        return read;
    }

    // Truth values are the only ones whose opposite is known.
    private static String heldUnless(@Nullable String free) {
        return "true".equalsIgnoreCase(free) ? "false" : "1";
    }

    private void check() {
        require(!free.equals(held), "Options free and held must be different values, but both are \"" + free + "\"");
        SqlName.columns(Stream.of(name, flag, owner, time)
                .filter(column -> column != null)
                .map(SqlName::text)
                .toArray(String[]::new));
        require(
                table.label().length() <= MAX_TABLE,
                "Option theirTable must be a name of at most " + MAX_TABLE
                        + " characters, because a table beside it has _holdfast_schema behind it, but was \"" + table
                        + "\"");
        // Otherwise nobody could tell whose a row is after its holder was taken for dead.
        require(
                time == null || owner != null,
                "Option timeColumn needs the option ownerColumn: a lock can be taken over by its time, and without an owner"
                        + " the former holder would not notice");
        require(
                deadAfter == null || time != null,
                "Option deadAfter needs the option timeColumn, by which it is known who is dead");
        require(isUtc == null || time != null, "Option timeZone needs the option timeColumn");
        if (deadAfter != null) {
            OptionTimes.check("deadAfter", deadAfter, LEAST_DEAD_AFTER, Duration.ofDays(36_500));
        }
    }

    /** The table with our record of each lock, beside theirs. */
    SqlName ours() {
        return table.with("_holdfast");
    }

    private static boolean isUtc(String zone) {
        require(
                zone.equals("utc") || zone.equals("session"),
                "Option timeZone must be one of utc, session, but was \"" + zone + "\"");
        return zone.equals("utc");
    }

    private static @Nullable String text(Map<String, String> values, String option) {
        String value = values.remove(option);
        return value == null ? null : UrlOptions.decodedText(value);
    }

    private static SqlName named(String option, @Nullable String value, boolean isTable) {
        String text = String.valueOf(value);
        try {
            return isTable ? SqlName.table(text) : SqlName.column(text);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException("Option " + option + ": " + wrong.getMessage(), wrong);
        }
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalArgumentException(message);
        }
    }
}
