package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;

/** The laws, on H2 in memory. */
class H2LockStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new JdbcLockStoreProvider().open("jdbc:h2:mem:tck;DB_CLOSE_DELAY=-1?holdfast.ticketTtl=1500ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
