package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;

/**
 * Opens {@code jdbc:h2:...}; other databases follow. The URL is the driver's own, with its own options. Options of ours
 * stand behind a question mark and begin with {@code holdfast.}, as in
 * {@code jdbc:h2:/var/lib/app/data;AUTO_SERVER=TRUE?holdfast.keep=7d&holdfast.ticketTtl=3s}; they are taken out before the
 * driver sees the URL. Times look like {@code 500ms}, {@code 5s}, {@code 10m}, {@code 24h}, {@code 30d} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code holdfast.keep}</td><td>30d</td><td>how long the row of an idle lock is kept</td></tr>
 * <tr><td>{@code holdfast.busyTimeout}</td><td>5s</td><td>how long a call may wait for a connection, other clients and
 *     other calls</td></tr>
 * <tr><td>{@code holdfast.ticketTtl}</td><td>5s</td><td>how long a waiter keeps its place without a refresh; the same in
 *     all clients of the database</td></tr>
 * </table>
 *
 * Another option that begins with {@code holdfast.} is refused.
 */
public final class JdbcLockStoreProvider implements LockStoreProvider {

    private static final String OURS = "holdfast.";

    @Override
    public String form() {
        return "jdbc:h2:...[?holdfast.OPTION=VALUE&...]";
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("jdbc:");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        if (!url.startsWith("jdbc:h2:")) {
            throw new IllegalArgumentException(
                    "Of the databases with a jdbc: URL, H2 is the one that is supported (jdbc:h2:...), but the URL was "
                            + withoutPassword(url) + ". For SQLite use sqlite:PATH");
        }
        Map<String, String> ours = new TreeMap<>();
        String drivers = takeOut(url, ours);
        return H2LockStore.open(drivers, withoutPassword(drivers), StoreOptions.of(ours, false), clock);
    }

    // What is not ours stays: some drivers have options behind a question mark themselves.
    private static String takeOut(String url, Map<String, String> ours) {
        int question = url.indexOf('?');
        if (question < 0) {
            return url;
        }
        StringJoiner theirs = new StringJoiner("&", "?", "").setEmptyValue("");
        for (String pair : url.substring(question + 1).split("&", -1)) {
            if (pair.startsWith(OURS)) {
                ours.putAll(StoreOptions.parse(pair.substring(OURS.length())));
            } else {
                theirs.add(pair);
            }
        }
        return url.substring(0, question) + theirs;
    }

    static String withoutPassword(String url) {
        return url.replaceAll("(?i)(password=)[^;&]*", "$1***");
    }
}
