package dev.holdfast.jdbc.sqlite;

import dev.holdfast.spi.MonotonicClock;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * The time of a store in SQLite, as a connection of the user's can tell it, which has none of the store's functions: the
 * host's monotonic clock, counted from where the first process of this boot wrote down that it began.
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

    /** The time on the clock of this boot; the latest there is if nobody wrote down where it begins. */
    public long micros(Connection connection, String schema) throws SQLException {
        String sql = "SELECT origin FROM " + schema + "holdfast_schema WHERE clock = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, boot());
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? (clock.nanoTime() - rows.getLong(1)) / 1_000 : Long.MAX_VALUE;
            }
        }
    }
}
