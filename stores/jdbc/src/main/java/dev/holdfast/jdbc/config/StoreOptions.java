package dev.holdfast.jdbc.config;

import dev.holdfast.spi.Claim;
import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store in a database.
 *
 * @param keep how long the row of an idle lock is kept
 * @param busyTimeout how long a call may wait for other clients and for other calls
 * @param ticketTtl how long a waiter stays in the queue without a refresh
 * @param boot an id of the host's boot, instead of the system's; null for the system's
 * @param table the name of the table of the locks; null for the usual one
 */
public record StoreOptions(
        Duration keep,
        Duration busyTimeout,
        Duration ticketTtl,
        @Nullable String boot,
        @Nullable SqlName table) {

    static final Duration DEFAULT_KEEP = Duration.ofDays(30);
    static final Duration DEFAULT_BUSY_TIMEOUT = Duration.ofSeconds(5);
    static final Duration DEFAULT_TICKET_TTL = Duration.ofSeconds(5);

    /** The names of the options of every database. */
    public static final List<String> OF_ALL = List.of("keep", "busyTimeout", "ticketTtl", "table");

    /** The names of the others, but for SQLite's {@code boot}. */
    public static final List<String> OF_SERVERS = List.of(
            "schema",
            "connections",
            "wakeup",
            "durability",
            "serverPrepare",
            "clock",
            "layout",
            "theirTable",
            "nameColumn",
            "flagColumn",
            "free",
            "held",
            "ownerColumn",
            "timeColumn",
            "timeZone",
            "deadAfter");

    public static final StoreOptions DEFAULTS =
            new StoreOptions(DEFAULT_KEEP, DEFAULT_BUSY_TIMEOUT, DEFAULT_TICKET_TTL, null, null);

    /** The time that a call may need beyond its waits: the statements themselves, a slow disk, a busy processor. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    /** The schemas of temporary tables: SQLite's and PostgreSQL's. */
    private static final Pattern OF_ONE_CONNECTION =
            Pattern.compile("[\"`]?(temp|pg_temp(_\\d+)?)[\"`]?\\.", Pattern.CASE_INSENSITIVE);

    /** The longest name of a table whose companion has a name that every database accepts. */
    private static final int MAX_TABLE = 56;

    private static final Pattern BOOT = Pattern.compile("[A-Za-z0-9_.-]{1,64}");

    public StoreOptions {
        // When a row is removed, its counter must be surely below the wall clock, from which the next counter of the
        // name is taken: so this is the step back of that clock which does no harm.
        OptionTimes.check("keep", keep, Claim.MAX_LEASE, Duration.ofDays(36_500));
        OptionTimes.check("busyTimeout", busyTimeout, Duration.ofMillis(10), Duration.ofMinutes(10));
        OptionTimes.check("ticketTtl", ticketTtl, Claim.MIN_LEASE, Claim.MAX_LEASE);
        if (boot != null && !BOOT.matcher(boot).matches()) {
            throw new IllegalArgumentException(
                    "Option boot must match " + BOOT.pattern() + ", but was \"" + boot + "\"");
        }
    }

    /**
     * Reads options.
     *
     * @param values values by name
     * @param allowsBoot whether {@code boot} is one of the options
     * @throws IllegalArgumentException if one is unknown or wrong
     */
    public static StoreOptions of(Map<String, String> values, boolean allowsBoot) {
        Duration keep = DEFAULT_KEEP;
        Duration busyTimeout = DEFAULT_BUSY_TIMEOUT;
        Duration ticketTtl = DEFAULT_TICKET_TTL;
        String boot = null;
        SqlName table = null;
        for (Map.Entry<String, String> option : values.entrySet()) {
            String value = option.getValue();
            switch (option.getKey()) {
                case "keep" -> keep = OptionTimes.parse("keep", value);
                case "busyTimeout" -> busyTimeout = OptionTimes.parse("busyTimeout", value);
                case "ticketTtl" -> ticketTtl = OptionTimes.parse("ticketTtl", value);
                case "boot" -> boot = value;
                case "table" -> table = table(value);
                default -> throw unknown(option.getKey(), allowsBoot);
            }
            if (boot != null && !allowsBoot) {
                throw unknown("boot", false);
            }
        }
        return new StoreOptions(keep, busyTimeout, ticketTtl, boot, table);
    }

    private static SqlName table(String value) {
        SqlName table;
        try {
            table = SqlName.table(UrlOptions.decodedText(value));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException("Option table: " + wrong.getMessage(), wrong);
        }
        if (OF_ONE_CONNECTION.matcher(table.text()).lookingAt()) {
            throw new IllegalArgumentException("Option table must not name a temporary table, which belongs to one"
                    + " connection, so that nobody would exclude anybody, but was \"" + value + "\"");
        }
        if (table.label().length() > MAX_TABLE) {
            throw new IllegalArgumentException("Option table must be a name of at most " + MAX_TABLE
                    + " characters, because a second table has _schema behind it, but was \"" + value + "\"");
        }
        return table;
    }

    public Duration callTimeout() {
        return busyTimeout.plus(MARGIN);
    }

    private static IllegalArgumentException unknown(String name, boolean allowsBoot) {
        List<String> names = new ArrayList<>(OF_ALL);
        names.addAll(allowsBoot ? List.of("boot") : OF_SERVERS);
        String last = names.remove(names.size() - 1);
        return new IllegalArgumentException(
                "Unknown option \"" + name + "\"; there are " + String.join(", ", names) + " and " + last);
    }
}
