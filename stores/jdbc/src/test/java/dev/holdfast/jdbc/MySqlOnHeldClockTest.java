package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.dialect.MySqlDialect;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import java.util.Map;

/** The laws, with the statements for MySQL and its driver, on MariaDB with a clock that can be held. */
class MySqlOnHeldClockTest extends HeldClockTck {

    MySqlOnHeldClockTest() {
        super(Servers.url("mysql"), Map.of());
    }

    @Override
    ServerTime follow(String database, ManualClock clock) {
        return ClockTable.inMariaDb(database, clock);
    }

    @Override
    ServerDialect dialect(String database, ServerOptions options) {
        return new MySqlDialect(database, true) {

            @Override
            public String now() {
                return "(SELECT micros FROM test_clock)";
            }
        };
    }

    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
