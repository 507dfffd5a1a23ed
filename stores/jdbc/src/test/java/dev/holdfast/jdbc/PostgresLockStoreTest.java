package dev.holdfast.jdbc;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;

/** The laws, on PostgreSQL. */
class PostgresLockStoreTest extends ServerStoreTck {

    private static final String URL = PostgresServer.shared().newSchema();

    PostgresLockStoreTest() {
        super(new JdbcLockStoreProvider(), URL + "&holdfast.ticketTtl=", Duration.ofSeconds(2));
        // The long run is made on a clock that can be held.
        meetsNoExpiryInModelRun();
        runsModel(2_000);
    }
}
