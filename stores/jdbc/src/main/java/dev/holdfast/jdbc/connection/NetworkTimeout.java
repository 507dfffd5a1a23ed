package dev.holdfast.jdbc.connection;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;

/** The time without an answer after which a driver gives a connection up, so that no call hangs with its server. */
final class NetworkTimeout {

    /** The result for a connection that has a shorter limit, or whose driver has none. */
    static final int UNCHANGED = -1;

    private NetworkTimeout() {}

    /** Sets the limit, unless the connection has a shorter one. Returns the one before, or {@link #UNCHANGED}. */
    static int limit(Connection connection, int millis) throws SQLException {
        try {
            int before = connection.getNetworkTimeout();
            if (before != 0 && before <= millis) {
                return UNCHANGED;
            }
            connection.setNetworkTimeout(Runnable::run, millis);
            return before;
        } catch (SQLFeatureNotSupportedException | AbstractMethodError without) {
            return UNCHANGED;
        }
    }
}
