package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.dialect.GenericDialect;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import java.util.Map;

/** The laws on H2, with the SQL that every database supports, and with a clock that can be held. */
class GenericLockStoreTest extends HeldClockTck {

    GenericLockStoreTest() {
        super(
                "jdbc:h2:mem:generic" + System.nanoTime() + ";DB_CLOSE_DELAY=-1",
                Map.of("clock", "(SELECT micros FROM test_clock)"));
    }

    @Override
    ServerTime follow(String database, ManualClock clock) {
        return ClockTable.inH2(database, clock);
    }

    @Override
    ServerDialect dialect(String database, ServerOptions options) {
        return GenericDialect.of(database, options);
    }

    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
