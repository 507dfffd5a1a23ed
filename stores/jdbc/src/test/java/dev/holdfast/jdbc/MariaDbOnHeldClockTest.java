package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.dialect.MariaDbDialect;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import java.util.Map;

/** The laws, on MariaDB with a clock that can be held. */
class MariaDbOnHeldClockTest extends HeldClockTck {

    MariaDbOnHeldClockTest() {
        super(MariaDbServer.shared().mariaUrl(MariaDbServer.shared().newDatabase()), Map.of());
    }

    @Override
    ServerTime follow(String database, ManualClock clock) {
        return ClockTable.inMariaDb(database, clock);
    }

    @Override
    ServerDialect dialect(String database, ServerOptions options) {
        return new MariaDbDialect(database, true) {

            @Override
            public String now() {
                return "(SELECT micros FROM test_clock)";
            }
        };
    }

    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
