package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.Locale;
import java.util.StringJoiner;
import org.h2.jdbcx.JdbcDataSource;

/** Creates a store in H2. A class apart from the provider, so that other URLs do not need H2 on the class path. */
final class H2StoreFactory {

    private H2StoreFactory() {}

    static RowLockStore open(String url, String shown, ServerOptions options, MonotonicClock clock) {
        options.check("H2", false, false);
        return open(url, shown, options, clock, new H2Dialect(shown));
    }

    static RowLockStore open(String url, String shown, ServerOptions options, MonotonicClock clock, H2Dialect dialect) {
        JdbcDataSource database = source(url);
        Duration timeout = options.store().busyTimeout();
        return open(
                dialect,
                new ConnectionPool(database, H2Dialect.PREPARES, options.all(false), shown, timeout, "holdfast-h2"),
                options,
                clock);
    }

    // A DataSource of H2 sets a user by itself, and H2 refuses a second one in the URL. So user and password are
    // taken out.
    private static JdbcDataSource source(String url) {
        JdbcDataSource database = new JdbcDataSource();
        StringJoiner rest = new StringJoiner(";");
        for (String part : url.split("(?<!\\\\);", -1)) {
            String setting = part.toUpperCase(Locale.ROOT);
            if (setting.startsWith("USER=")) {
                database.setUser(part.substring("USER=".length()));
            } else if (setting.startsWith("PASSWORD=")) {
                database.setPassword(part.substring("PASSWORD=".length()));
            } else {
                rest.add(part);
            }
        }
        database.setURL(rest.toString());
        return database;
    }

    static RowLockStore open(H2Dialect dialect, ConnectionSource pool, ServerOptions options, MonotonicClock clock) {
        // H2 closes its file when a thread is interrupted during a call, so calls do not run on the caller's thread. It
        // has one
        // lane: writers of an embedded database would only wait for each other's row locks.
        StoreWiring wiring = new StoreWiring(false, 1, options.ownPolls(), Duration.ZERO, WaiterNotifier.NONE);
        return ServerStoreFactory.open(dialect, pool, options, wiring, clock);
    }

    /** Creates a store over the user's own pool. */
    static RowLockStore over(ConnectionSource pool, ServerOptions options, MonotonicClock clock) {
        options.check("H2", false, false);
        return open(new H2Dialect(pool.toString()), pool, options, clock);
    }
}
