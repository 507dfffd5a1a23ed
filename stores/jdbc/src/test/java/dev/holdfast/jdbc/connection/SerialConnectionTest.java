package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.ManualClock;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What counts as time that a call has waited. */
class SerialConnectionTest {

    private static final Duration LIMIT = Duration.ofSeconds(5);

    @TempDir
    Path folder;

    private final ManualClock clock = new ManualClock();

    @Test
    void aKeptConnectionThatIsMadeSlowlyLeavesACallAllItsTime() {
        try (SerialConnection lane = lane(true)) {
            assertThat(lane.<Boolean>call(turn -> turn.further() != null)).isTrue();
        }
    }

    @Test
    void aPooledConnectionThatComesTooLateIsOfNoMoreUse() {
        try (SerialConnection lane = lane(false)) {
            assertThatThrownBy(() -> lane.call(turn -> true))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("was not reached within 5000 ms");
        }
    }

    private SerialConnection lane(boolean kept) {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(clock, "boot", path.toString());
        SqliteFile file = new SqliteFile(path, LIMIT, dialect);
        ConnectionSource slow = new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                clock.advance(LIMIT.plusMillis(1));
                return file.open();
            }

            @Override
            public boolean keep() {
                return kept;
            }

            @Override
            public void close() {}
        };
        return new SerialConnection(slow, dialect, Duration.ofSeconds(5), LIMIT, clock);
    }
}
