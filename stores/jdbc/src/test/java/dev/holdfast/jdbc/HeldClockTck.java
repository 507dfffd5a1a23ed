package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * The laws on a database server whose statements read a clock that can be held, and are the same but for that. So time passes in
 * an instant, no result depends on the speed of the machine, and the laws about clocks can be tried, too.
 */
abstract class HeldClockTck extends LockStoreTck {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final DatabaseUrl url;
    private final ServerOptions options;
    private HeldServerClock server;

    HeldClockTck(String url, Map<String, String> options) {
        this.url = DatabaseUrl.of(url);
        this.options = ServerOptions.of(options);
    }

    /** Makes the server follow a clock. */
    abstract HeldServerClock hold(String database, MonotonicClock clock);

    /** The dialect, with that clock. */
    abstract ServerDialect dialect(String database, ServerOptions options);

    @Override
    protected final LockStore open(MonotonicClock clock) {
        server = hold(url.url(), clock);
        return openAnother(clock).orElseThrow();
    }

    @Override
    protected final Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(ServerStoreFactory.open(url, options, clock, dialect(url.url(), options)));
    }

    /** The next counter is not taken from the clock alone. */
    @Test
    void countersGrowThoughTheServersClockStepsBack() {
        Claimant alice = new Claimant("alice", LONG);
        LockName name = new LockName(prefix() + "stepped");
        long last = 0;
        for (int i = 0; i < 3; i++) {
            Claim claim = alice.mutex(name);
            Granted granted = (Granted) get(store().tryAcquire(claim));
            assertThat(granted.counter()).isGreaterThan(last);
            last = granted.counter();
            get(store().release(claim));
            server.step(Duration.ofHours(-5));
        }
    }

    @Override
    protected final void fillQueue(List<Claim> claims) {
        try (ConnectionPool pool =
                new ConnectionPool(url, url.properties(LIMIT, LIMIT, true), 1, LIMIT, LIMIT, "full-queue")) {
            FullQueue.fill(pool, dialect(url.url(), options), store().traits().ticketTtl(), clock(), claims);
        }
    }
}
