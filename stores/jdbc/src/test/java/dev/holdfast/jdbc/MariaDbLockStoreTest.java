package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;

/** The laws, on MariaDB, by MariaDB's driver. */
class MariaDbLockStoreTest extends LockStoreTck {

    private static final String URL =
            MariaDbServer.shared().mariaUrl(MariaDbServer.shared().newDatabase()) + "&holdfast.ticketTtl=8s";

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new JdbcLockStoreProvider().open(URL, clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The rules are those of every database, and have their long run on others; here each step is several statements.
    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
