package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.Locale;
import java.util.StringJoiner;
import org.h2.jdbcx.JdbcDataSource;

/** Creates a store in H2. A class apart from the provider, so that other URLs do not need H2 on the class path. */
final class H2StoreFactory {

    private H2StoreFactory() {}

    static LockStore open(String url, String shown, ServerOptions options, MonotonicClock clock) {
        options.check("H2", false, false);
        H2Dialect dialect = new H2Dialect(shown);
        return options.adopted() == null
                ? open(url, shown, options, clock, dialect)
                : ServerStoreFactory.adopt(dialect, pool(url, shown, options), options, wiring(options), clock);
    }

    static RowLockStore open(String url, String shown, ServerOptions options, MonotonicClock clock, H2Dialect dialect) {
        return open(dialect, pool(url, shown, options), options, clock);
    }

    private static ConnectionPool pool(String url, String shown, ServerOptions options) {
        Duration timeout = options.store().busyTimeout();
        return new ConnectionPool(source(url), H2Dialect.PREPARES, options.all(false), shown, timeout, "holdfast-h2");
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
        return ServerStoreFactory.open(dialect, pool, options, wiring(options), clock);
    }

    // H2 closes its file when a thread is interrupted during a call, so calls do not run on the caller's
    // thread. It has one lane: writers of an embedded database would only wait for each other's row locks.
    private static StoreWiring wiring(ServerOptions options) {
        return new StoreWiring(false, 1, options.ownPolls(), Duration.ZERO, WaiterNotifier.NONE);
    }

    /** Creates a store over the user's own pool. */
    static LockStore over(ConnectionSource pool, ServerOptions options, MonotonicClock clock) {
        options.check("H2", false, false);
        H2Dialect dialect = new H2Dialect(pool.toString());
        return options.adopted() == null
                ? open(dialect, pool, options, clock)
                : ServerStoreFactory.adopt(dialect, pool, options, wiring(options), clock);
    }
}
