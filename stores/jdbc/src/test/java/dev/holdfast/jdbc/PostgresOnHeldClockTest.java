package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.dialect.PostgresDialect;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import java.util.Map;

/** The laws, on PostgreSQL with a clock that can be held. */
class PostgresOnHeldClockTest extends HeldClockTck {

    PostgresOnHeldClockTest() {
        super(PostgresServer.shared().newSchema(), Map.of());
    }

    @Override
    ServerTime follow(String database, ManualClock clock) {
        return ClockTable.inPostgres(database, clock);
    }

    @Override
    ServerDialect dialect(String database, ServerOptions options) {
        return new PostgresDialect(database, false, false) {

            @Override
            public String now() {
                return "(SELECT last_value FROM test_clock)";
            }
        };
    }

    @Override
    protected int modelOperations() {
        return 4_000;
    }
}
