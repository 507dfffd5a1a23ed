package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;

/** The laws, on MariaDB, by MariaDB's driver. */
class MariaDbLockStoreTest extends LockStoreTck {

    private static final String URL =
            MariaDbServer.shared().mariaUrl(MariaDbServer.shared().newDatabase());

    @Override
    protected LockStore open(MonotonicClock clock) {
        return open(clock, Duration.ofSeconds(2));
    }

    /** The run holds all its names in step, which takes this server's client a large part of a shorter ticket. */
    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive.multipliedBy(4));
    }

    private static LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new JdbcLockStoreProvider().open(URL + "&holdfast.ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
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
