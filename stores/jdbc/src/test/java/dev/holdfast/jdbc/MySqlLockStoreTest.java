package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;

/** The laws, on MariaDB, by MySQL's driver and with SQL that MySQL supports as well. */
class MySqlLockStoreTest extends LockStoreTck {

    private static final String URL =
            MariaDbServer.shared().mysqlUrl(MariaDbServer.shared().newDatabase()) + "&holdfast.ticketTtl=8s";

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new JdbcLockStoreProvider().open(URL, clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
