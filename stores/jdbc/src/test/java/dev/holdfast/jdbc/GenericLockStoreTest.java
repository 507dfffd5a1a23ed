package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;

/** The laws on H2, with the SQL that every database supports. */
class GenericLockStoreTest extends LockStoreTck {

    private static final String URL = "jdbc:h2:mem:generic;DB_CLOSE_DELAY=-1"
            + "?holdfast.clock=CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)";

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

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
