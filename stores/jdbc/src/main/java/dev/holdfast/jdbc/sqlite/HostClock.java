package dev.holdfast.jdbc.sqlite;

import dev.holdfast.spi.MonotonicClock;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * The time of a store in SQLite, for a connection of the user's, which does not have the store's SQL functions: the
 * host's monotonic clock, counted from the origin that the first process of this boot wrote into the file.
 */
public final class HostClock {

    private final MonotonicClock clock;
    private final @Nullable String boot;

    /** @param boot the id of the boot; null for the system's */
    public HostClock(MonotonicClock clock, @Nullable String boot) {
        this.clock = clock;
        this.boot = boot;
    }

    public String boot() {
        return boot == null ? BootId.ofThisHost() : boot;
    }

    /**
     * The time on the clock of this boot; {@link Long#MAX_VALUE} if no process has written the origin of this boot.
     *
     * @param schema the table that has the origin
     */
    public long micros(Connection connection, String schema) throws SQLException {
        String sql = "SELECT origin FROM " + schema + " WHERE clock = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, boot());
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? (clock.nanoTime() - rows.getLong(1)) / 1_000 : Long.MAX_VALUE;
            }
        }
    }
}
