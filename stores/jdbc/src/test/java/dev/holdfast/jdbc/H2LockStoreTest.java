package dev.holdfast.jdbc;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;

/** The laws, on H2 in memory. */
class H2LockStoreTest extends ServerStoreTck {

    H2LockStoreTest() {
        super(
                new JdbcLockStoreProvider(),
                Servers.loaded("jdbc:h2:mem:tck;DB_CLOSE_DELAY=-1") + "?holdfast.ticketTtl=",
                Duration.ofMillis(1500));
        // The long run is made on a clock that can be held.
        meetsNoExpiryInModelRun();
        runsModel(2_000);
    }
}
