package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.jdbc.sqlite.BootId;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.UrlOptions;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Opens {@code sqlite:PATH}: a file that several processes of one host share, with no server. PATH is relative to
 * the working directory or absolute; {@code ~} is not expanded. A missing file, and missing folders above it, are
 * created so that only their owner can read and write them.
 *
 * <p>Options stand behind a question mark, as in {@code sqlite:/var/lib/app/locks.db?keep=7d&busyTimeout=2s}. Times look
 * like {@code 500ms}, {@code 5s}, {@code 10m}, {@code 24h}, {@code 30d} or {@code PT5S}.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code keep}</td><td>30d</td><td>how long the row of an idle lock is kept</td></tr>
 * <tr><td>{@code busyTimeout}</td><td>5s</td><td>how long a call may wait for other processes and other calls</td></tr>
 * <tr><td>{@code ticketTtl}</td><td>5s</td><td>how long a waiter stays in the queue without a refresh; the same in
 *     all processes that share the file</td></tr>
 * <tr><td>{@code table}</td><td>holdfast_lock</td><td>the name of the table of the locks; that of the second table is
 *     the same with {@code _schema} behind it</td></tr>
 * <tr><td>{@code boot}</td><td>the system's</td><td>an id of the host's boot, for a system that reports
 *     none</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class SqliteLockStoreProvider implements LockStoreProvider {

    private static final String SCHEME = "sqlite:";

    @Override
    public String form() {
        return "sqlite:PATH[?OPTION=VALUE&...]";
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith(SCHEME);
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        int question = url.indexOf('?');
        StoreOptions options = question < 0
                ? StoreOptions.DEFAULTS
                : StoreOptions.of(UrlOptions.split(url.substring(question + 1)), true);
        Path path = path(url, url.substring(SCHEME.length(), question < 0 ? url.length() : question));
        String boot = options.boot();
        return openShared(path, options, clock, boot == null ? BootId.ofThisHost() : boot);
    }

    private static LockStore openShared(Path path, StoreOptions options, MonotonicClock clock, String boot) {
        SqliteDialect dialect = new SqliteDialect(clock, boot, path.toString());
        SqliteFile file = new SqliteFile(path, options.busyTimeout(), dialect);
        file.create();
        SharedLockStore.Key key = new SharedLockStore.Key(file.realPath(), file.id(), options, boot, clock);
        return SharedLockStore.open(key, () -> {
            RowLockStore store = open(dialect, file, options, clock);
            return new SharedLockStore.Opened(store, () -> start(store, dialect, file));
        });
    }

    /** Opens a store that is not shared with other clients of this JVM, as another process would. */
    static RowLockStore open(Path path, StoreOptions options, MonotonicClock clock, String boot) {
        SqliteDialect dialect = new SqliteDialect(clock, boot, path.toString());
        SqliteFile file = new SqliteFile(path, options.busyTimeout(), dialect);
        file.create();
        return open(dialect, file, options, clock);
    }

    static RowLockStore open(SqliteDialect dialect, ConnectionSource file, StoreOptions options, MonotonicClock clock) {
        // The driver is native code, which interrupts do not affect, so calls run on the caller's thread. One lane is
        // enough: SQLite has one writer at a time.
        dialect.keepIn(LockTables.of(options.table()));
        StoreWiring wiring = new StoreWiring(true, 1, true, Duration.ZERO, WaiterNotifier.NONE);
        RowLockStore store = new RowLockStore(dialect, file, options, wiring, clock);
        boolean ready = false;
        try {
            start(store, dialect, file);
            ready = true;
            return store;
        } finally {
            if (!ready) {
                store.close();
            }
        }
    }

    private static void start(RowLockStore store, SqliteDialect dialect, ConnectionSource file) {
        TableSchema schema = new TableSchema(dialect, file.toString());
        store.start(statements -> {
            schema.ensure(statements.connection());
            dialect.start(statements);
        });
    }

    private static Path path(String url, String text) {
        if (text.isEmpty() || text.startsWith(":")) {
            throw new IllegalArgumentException(
                    "The URL of a store in SQLite is sqlite:PATH with the path of a file, but was " + url
                            + ". For a store in memory use memory:");
        }
        if (text.startsWith("~")) {
            // Else there would be a folder of this name in each working directory, and nobody would exclude anybody.
            throw new IllegalArgumentException(
                    "The ~ in " + url + " is not expanded: write the path of the home folder,"
                            + " or ./~ for a file whose name begins with ~");
        }
        try {
            return Path.of(text).toAbsolutePath().normalize();
        } catch (InvalidPathException wrong) {
            throw new IllegalArgumentException("The path in " + url + " is wrong: " + wrong.getMessage(), wrong);
        }
    }
}
