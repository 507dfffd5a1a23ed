package dev.holdfast.jdbc;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;

/** The laws, by MySQL's driver and with SQL for MySQL; on MariaDB, unless there is a server of MySQL's. */
class MySqlLockStoreTest extends ServerStoreTck {

    private static final String URL = Servers.url("mysql");

    MySqlLockStoreTest() {
        super(new JdbcLockStoreProvider(), URL + "&holdfast.ticketTtl=", Duration.ofSeconds(2));
        // The long run is made on a clock that can be held.
        meetsNoExpiryInModelRun();
        runsModel(2_000);
    }
}
