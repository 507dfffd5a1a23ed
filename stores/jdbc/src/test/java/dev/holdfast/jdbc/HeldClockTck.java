package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.HeldServerTck;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The laws on a database server whose statements read a clock that can be held, and are the same but for that. */
abstract class HeldClockTck extends HeldServerTck {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final DatabaseUrl url;
    private final ServerOptions options;

    HeldClockTck(String url, Map<String, String> options) {
        this.url = DatabaseUrl.of(url);
        this.options = ServerOptions.of(options);
    }

    /** Makes a database of the server follow a clock. */
    abstract ServerTime follow(String database, ManualClock clock);

    /** The dialect, with that clock. */
    abstract ServerDialect dialect(String database, ServerOptions options);

    @Override
    protected final ServerTime follow(ManualClock clock) {
        return follow(url.url(), clock);
    }

    @Override
    protected final LockStore connect(MonotonicClock clock) {
        return ServerStoreFactory.open(url, options, clock, dialect(url.url(), options));
    }

    @Override
    protected final void fillQueue(List<Claim> claims) {
        try (ConnectionPool pool =
                new ConnectionPool(url, url.properties(LIMIT, LIMIT, true), 1, LIMIT, LIMIT, "full-queue")) {
            FullQueue.fill(pool, dialect(url.url(), options), store().traits().ticketTtl(), clock(), claims);
        }
    }
}
