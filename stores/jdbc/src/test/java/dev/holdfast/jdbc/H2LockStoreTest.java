package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;

/** The laws, on H2 in memory. */
class H2LockStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return open(clock, Duration.ofMillis(1500));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new JdbcLockStoreProvider()
                .open("jdbc:h2:mem:tck;DB_CLOSE_DELAY=-1?holdfast.ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
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
