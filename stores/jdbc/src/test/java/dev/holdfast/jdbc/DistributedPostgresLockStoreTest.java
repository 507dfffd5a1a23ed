package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * The laws with what is done in CockroachDB, on PostgreSQL in its place: without notifications, and with serializable transactions,
 * which are the usual ones there. It takes half a minute, and runs on demand: {@code -Dholdfast.distributed=true}.
 */
@EnabledIfSystemProperty(named = "holdfast.distributed", matches = "true")
class DistributedPostgresLockStoreTest extends LockStoreTck {

    private static String url;

    @Override
    protected LockStore open(MonotonicClock clock) {
        return open(clock, Duration.ofMinutes(1));
    }

    @Override
    protected LockStore openWithBriefTickets() {
        return open(clock(), Duration.ofSeconds(2));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private static LockStore open(MonotonicClock clock, Duration ticketTtl) {
        if (url == null) {
            url = Servers.url("cockroachdb") + "&options=-c%20default_transaction_isolation=serializable";
        }
        return new JdbcLockStoreProvider().open(url + "&holdfast.ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // What ends by time is the rules' of all databases, which meet it on a clock that can be held.
    @Override
    protected boolean modelRunMeetsExpiry() {
        return false;
    }

    @Override
    protected int modelOperations() {
        return 1_000;
    }
}
