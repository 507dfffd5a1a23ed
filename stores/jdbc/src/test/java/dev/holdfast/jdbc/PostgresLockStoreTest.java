package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;

/** The laws, on PostgreSQL. */
class PostgresLockStoreTest extends LockStoreTck {

    private static final String URL = PostgresServer.shared().newSchema() + "&holdfast.ticketTtl=4s";

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new JdbcLockStoreProvider().open(URL, clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    @Override
    protected int modelOperations() {
        return 5_000;
    }
}
