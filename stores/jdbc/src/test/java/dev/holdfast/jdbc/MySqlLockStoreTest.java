package dev.holdfast.jdbc;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;

/** The laws, on MariaDB, by MySQL's driver and with SQL that MySQL supports as well. */
class MySqlLockStoreTest extends ServerStoreTck {

    private static final String URL =
            MariaDbServer.shared().mysqlUrl(MariaDbServer.shared().newDatabase());

    MySqlLockStoreTest() {
        super(new JdbcLockStoreProvider(), URL + "&holdfast.ticketTtl=", Duration.ofSeconds(2));
        // The long run is made on a clock that can be held.
        meetsNoExpiryInModelRun();
        runsModel(2_000);
    }
}
