package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.spi.LockName;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.Seeds;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

/** How long the statements of one call may wait for other clients, all together. */
class WaitLimitTest {

    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final ManualClock clock = new ManualClock(Seeds.of("wait limit"));
    private final List<Duration> limits = new ArrayList<>();
    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private final LockName name = new LockName("hot");

    /** The first try may have waited for most of the time; a second wait as long would be twice what was promised. */
    @Test
    void tryAfterALostRaceWaitsForTheRestOnly() throws SQLException {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:" + System.nanoTime());
        H2Dialect dialect = new H2Dialect("h2") {
            @Override
            public void limitWait(Connection connection, Duration most) {
                limits.add(most);
            }
        };
        ConnectionPool pool = new ConnectionPool(database, H2Dialect.PREPARES, 7, "h2", LIMIT, "test");
        try (RowLockStore store = H2StoreFactory.open(dialect, pool, ServerOptions.DEFAULTS, clock);
                LockTable table = new LockTable(database.getConnection(), dialect, LIMIT, false, clock);
                LockTable other = new LockTable(database.getConnection(), dialect, LIMIT, false, clock)) {
            limits.clear();
            table.begin(clock.nanoTime() + LIMIT.toNanos(), LIMIT);
            boolean[] again = new boolean[1];
            table.transition(
                    List.of(name),
                    read -> {
                        if (!again[0]) {
                            again[0] = true;
                            enqueue(other);
                            clock.advance(Duration.ofSeconds(3));
                        }
                        return read.only().enqueue(alice.mutex(name), read.now(), read.epoch());
                    },
                    true);
            assertThat(limits).containsExactly(Duration.ofSeconds(2));
            table.end(LIMIT);
            assertThat(limits).containsExactly(Duration.ofSeconds(2), LIMIT);
        }
    }

    private void enqueue(LockTable other) {
        try {
            other.transition(
                    List.of(name), read -> read.only().enqueue(alice.mutex(name), read.now(), read.epoch()), true);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
