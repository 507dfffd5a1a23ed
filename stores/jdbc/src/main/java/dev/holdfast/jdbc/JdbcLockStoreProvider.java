package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.StoreUrl;
import dev.holdfast.store.UrlOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Opens {@code jdbc:postgresql:...}, {@code jdbc:mariadb:...}, {@code jdbc:mysql:...}, {@code jdbc:h2:...}, and the
 * URL of any other JDBC driver if the option {@code holdfast.clock} gives the expression for the database's time.
 * The URL is the driver's own, with its own options. Options of ours stand behind a question mark and begin with
 * {@code holdfast.}, as in {@code jdbc:postgresql://db/app?user=app&holdfast.keep=7d&holdfast.ticketTtl=3s}; they
 * are taken out before the driver sees the URL. Times look like {@code 500ms}, {@code 5s}, {@code 10m}, {@code 24h},
 * {@code 30d} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code holdfast.keep}</td><td>30d</td><td>how long the row of an idle lock is kept</td></tr>
 * <tr><td>{@code holdfast.busyTimeout}</td><td>5s</td><td>how long a call may wait for a connection, other clients and
 *     other calls</td></tr>
 * <tr><td>{@code holdfast.ticketTtl}</td><td>5s</td><td>how long a waiter stays in the queue without a refresh; the
 *     same in all clients of the database</td></tr>
 * <tr><td>{@code holdfast.schema}</td><td>create</td><td>what is done about the tables when the store is opened: {@code
 *     create} makes and checks them, {@code check} checks them, {@code none} does nothing</td></tr>
 * <tr><td>{@code holdfast.table}</td><td>holdfast_lock</td><td>the name of the table of the locks, as {@code NAME} or
 *     {@code SCHEMA.NAME}; that of the second table is the same with {@code _schema} behind it</td></tr>
 * <tr><td>{@code holdfast.connections}</td><td>9</td><td>how many connections there are at most beside that of the
 *     renewals and that of the clean-up: 1 to 64; one is for polls, the others for work</td></tr>
 * <tr><td>{@code holdfast.wakeup}</td><td>notify</td><td>PostgreSQL: {@code notify} notifies waiters by {@code
 *     NOTIFY}, over one more connection, if that is found to arrive; {@code poll} does not, and is the default with {@code
 *     serverPrepare=off}; the same in all clients</td></tr>
 * <tr><td>{@code holdfast.durability}</td><td>full</td><td>PostgreSQL: {@code relaxed} never waits for the
 *     disk</td></tr>
 * <tr><td>{@code holdfast.serverPrepare}</td><td>on</td><td>PostgreSQL and MariaDB: {@code off} prepares no statement at the server, for
 *     poolers that cannot carry them over</td></tr>
 * <tr><td>{@code holdfast.clock}</td><td></td><td>other databases: a SQL expression for the time in microseconds since 1970
 *     as a 64-bit number, read again by each statement</td></tr>
 * <tr><td>{@code holdfast.layout}</td><td>record</td><td>{@code insert} and {@code flag} take exclusive locks in a table of other
 *     programs, which {@code theirTable}, {@code nameColumn}, {@code flagColumn}, {@code free}, {@code held}, {@code ownerColumn},
 *     {@code timeColumn}, {@code timeZone} and {@code deadAfter} describe; see {@code docs/databases.md}</td></tr>
 * </table>
 *
 * Another option that begins with {@code holdfast.} is refused, and so is one of these names without that before it, which no
 * driver of the four databases knows: it would be ignored, or name another database.
 */
public final class JdbcLockStoreProvider implements LockStoreProvider {

    private static final String OURS = "holdfast.";

    /** The databases whose drivers are known to have none of our options but {@link #PERHAPS_THEIRS}. */
    private static final Pattern KNOWN = Pattern.compile("jdbc:(postgresql|mariadb|mysql|h2):");

    private static final Set<String> PERHAPS_THEIRS = Set.of("free", "held", "timeZone");

    @Override
    public String form() {
        return "jdbc:{postgresql,mariadb,mysql,h2}:...[?holdfast.OPTION=VALUE&...]";
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("jdbc:");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        Map<String, String> ours = new TreeMap<>();
        DatabaseUrl theirs = DatabaseUrl.of(takeOut(url, ours));
        ServerOptions options = StoreUrl.hidingPassword(url, () -> ServerOptions.of(ours));
        return theirs.url().startsWith("jdbc:h2:") && options.clock() == null
                ? H2StoreFactory.open(theirs.url(), theirs.shown(), options, clock)
                : ServerStoreFactory.open(theirs, options, clock);
    }

    /** Implements {@link JdbcLockStore#ddl}. */
    static String ddl(String url) {
        Map<String, String> ours = new TreeMap<>();
        DatabaseUrl theirs = DatabaseUrl.of(takeOut(url, ours));
        ServerOptions options = StoreUrl.hidingPassword(url, () -> ServerOptions.of(ours));
        LockTables all = LockTables.of(options.lockTable());
        LockTables tables = options.adopted() == null ? all : all.withoutNode();
        if (theirs.url().startsWith("jdbc:h2:") && options.clock() == null) {
            H2Dialect h2 = new H2Dialect(theirs.shown());
            h2.keepIn(tables);
            return h2.ddl();
        }
        ServerDialect dialect = theirs.dialect(options, true);
        dialect.keepIn(tables);
        return dialect.ddl();
    }

    // Other options stay in the URL: some drivers have options behind a question mark themselves.
    private static String takeOut(String url, Map<String, String> ours) {
        int question = url.indexOf('?');
        if (question < 0) {
            return url;
        }
        StringJoiner theirs = new StringJoiner("&", "?", "").setEmptyValue("");
        List<String> all = new ArrayList<>();
        for (String pair : url.substring(question + 1).split("&", -1)) {
            if (pair.startsWith(OURS)) {
                all.add(pair.substring(OURS.length()));
            } else if (!pair.isEmpty()) {
                requireTheirs(url, pair);
                theirs.add(pair);
            }
        }
        if (!all.isEmpty()) {
            // As one text, in which an option that is given twice is seen.
            ours.putAll(StoreUrl.hidingPassword(url, () -> UrlOptions.split(String.join("&", all))));
        }
        return url.substring(0, question) + theirs;
    }

    private static void requireTheirs(String url, String pair) {
        String name = pair.substring(0, Math.max(0, pair.indexOf('=')));
        boolean isOurs = StoreOptions.OF_ALL.contains(name) || StoreOptions.OF_SERVERS.contains(name);
        if (isOurs && !PERHAPS_THEIRS.contains(name) && KNOWN.matcher(url).lookingAt()) {
            throw new IllegalArgumentException("Option " + name + " in the URL of a database must be written " + OURS
                    + name + ": without " + OURS + " it is the driver's, which has none of this name");
        }
    }
}
