package dev.holdfast.jdbc.config;

import dev.holdfast.store.UrlOptions;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store in a database server or in H2.
 *
 * @param store the options that every store in a database has
 * @param schema whether the tables are created and checked
 * @param connections how many connections there are at most beside those of the renewals, of what looks at many rows, and of
 *     the notifications
 * @param wakeup how waiters of other clients learn of their grant
 * @param relaxed whether commits do not wait for the database's disk
 * @param serverPrepare whether statements are prepared at the server
 * @param clock the wall clock of a database without a dialect of its own, as a SQL expression in microseconds since 1970
 * @param adopted the table of other programs that the locks are shared with; null if there is none
 */
public record ServerOptions(
        StoreOptions store,
        SchemaMode schema,
        int connections,
        Wakeup wakeup,
        boolean relaxed,
        boolean serverPrepare,
        @Nullable String clock,
        @Nullable AdoptedLayout adopted) {

    /** Eight for work, and one for polls. */
    private static final int DEFAULT_CONNECTIONS = 9;

    private static final int MAX_CONNECTIONS = 64;

    public static final ServerOptions DEFAULTS = new ServerOptions(
            StoreOptions.DEFAULTS, SchemaMode.CREATE, DEFAULT_CONNECTIONS, Wakeup.DEFAULT, false, true, null, null);

    /** Whether the tables are created and checked when a store is opened. */
    public enum SchemaMode {
        /** The tables are created if they are missing, and checked. */
        CREATE,
        /** The tables are checked. */
        CHECK,
        /** The tables are not checked: if they are wrong, the first call fails. */
        NONE
    }

    /** How waiters of other clients learn of their grant. */
    public enum Wakeup {
        /** They are notified by a database that can, if the notifications reach this client; else they poll. */
        DEFAULT,
        /** The same, for a database that can. */
        NOTIFY,
        /** They poll. */
        POLL
    }

    public static ServerOptions parse(String query) {
        return of(query.isEmpty() ? Map.of() : UrlOptions.split(query));
    }

    /**
     * Reads the options of a URL.
     *
     * @throws IllegalArgumentException if one is unknown or wrong
     */
    public static ServerOptions of(Map<String, String> values) {
        Map<String, String> rest = new TreeMap<>(values);
        SchemaMode schema = SchemaMode.valueOf(
                oneOf(rest, "schema", "create", "check", "none").toUpperCase(java.util.Locale.ROOT));
        int connections = connections(rest.remove("connections"));
        Wakeup wakeup = Wakeup.valueOf(
                oneOf(rest, "wakeup", "default", "notify", "poll").toUpperCase(java.util.Locale.ROOT));
        boolean relaxed = oneOf(rest, "durability", "full", "relaxed").equals("relaxed");
        boolean prepare = oneOf(rest, "serverPrepare", "on", "off").equals("on");
        String clock = rest.remove("clock");
        AdoptedLayout adopted = AdoptedLayout.takeFrom(rest);
        if (adopted != null && rest.containsKey("table")) {
            throw new IllegalArgumentException(
                    "Option table is not for layout=" + adopted.form() + ": the record is in " + adopted.ours()
                            + ", beside the table of theirTable, for all clients of it");
        }
        StoreOptions store = StoreOptions.of(rest, false);
        return new ServerOptions(store, schema, connections, wakeup, relaxed, prepare, clock, adopted);
    }

    /** The table of the locks; null for the usual one. */
    public @Nullable SqlName lockTable() {
        return store.table() == null && adopted != null ? adopted.ours() : store.table();
    }

    private static int connections(@Nullable String value) {
        if (value == null) {
            return DEFAULT_CONNECTIONS;
        }
        int count = value.matches("[0-9]{1,3}") ? Integer.parseInt(value) : 0;
        if (count < 1 || count > MAX_CONNECTIONS) {
            throw new IllegalArgumentException(
                    "Option connections must be 1 to " + MAX_CONNECTIONS + ", but was \"" + value + "\"");
        }
        return count;
    }

    /** How many connections there are for work; if there is only one connection, polls share it. */
    public int lanes() {
        return Math.max(1, connections - 1);
    }

    /** Whether polls have a connection of their own. */
    public boolean ownPolls() {
        return connections > 1;
    }

    /** Whether this client notifies others, in a database that can. */
    public boolean notifies() {
        return wakeup != Wakeup.POLL;
    }

    /**
     * Whether this client listens for notifications, in a database that can. Not by itself where statements are not prepared at
     * the server: that is for poolers which give each transaction another session, in which nobody can listen.
     */
    public boolean listens() {
        return wakeup == Wakeup.NOTIFY || (wakeup == Wakeup.DEFAULT && serverPrepare);
    }

    /**
     * How many connections there are at most in all.
     *
     * @param listens whether one of them listens
     */
    public int all(boolean listens) {
        return connections + 2 + (listens ? 1 : 0);
    }

    // The first of the values is the default.
    private static String oneOf(Map<String, String> values, String name, String... allowed) {
        String value = values.remove(name);
        if (value == null) {
            return allowed[0];
        }
        for (String one : allowed) {
            if (one.equals(value)) {
                return value;
            }
        }
        throw new IllegalArgumentException(
                "Option " + name + " must be one of " + String.join(", ", allowed) + ", but was \"" + value + "\"");
    }

    /** Refuses options that the database does not support. */
    public void check(String product, boolean canNotify, boolean canRelax) {
        if (wakeup == Wakeup.NOTIFY && !canNotify) {
            throw new IllegalArgumentException("Option wakeup=notify is for PostgreSQL, but this is " + product);
        }
        if (relaxed && !canRelax) {
            throw new IllegalArgumentException("Option durability=relaxed is for PostgreSQL, but this is " + product);
        }
    }
}
