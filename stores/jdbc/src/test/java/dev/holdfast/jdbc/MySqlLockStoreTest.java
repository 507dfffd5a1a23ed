package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;

/** The laws, by MySQL's driver and with SQL for MySQL; on MariaDB, unless there is a server of MySQL's. */
class MySqlLockStoreTest extends LockStoreTck {

    private static final String URL = Servers.url("mysql");

    @Override
    protected LockStore open(MonotonicClock clock) {
        return open(clock, Duration.ofSeconds(2));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private static LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new JdbcLockStoreProvider().open(URL + "&holdfast.ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The long run is made on a clock that can be held.
    @Override
    protected boolean modelRunMeetsExpiry() {
        return false;
    }

    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
