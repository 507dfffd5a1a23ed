package dev.holdfast.jdbc.connection;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.IdentityHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Connections of the user's own pool: borrowed for a call, and given back in their former state. Thread-safe. */
public final class BorrowedConnections implements ConnectionSource {

    private record Before(boolean autoCommit, int networkTimeout) {}

    private static final int UNKNOWN = -1;

    private final DataSource pool;
    private final int timeoutMillis;
    private final IdentityHashMap<Connection, Before> borrowed = new IdentityHashMap<>();

    public BorrowedConnections(DataSource pool, Duration statementTimeout) {
        this.pool = pool;
        this.timeoutMillis = Math.toIntExact(statementTimeout.toMillis());
    }

    @Override
    public Connection open() throws SQLException {
        Connection connection = pool.getConnection();
        boolean ready = false;
        try {
            Before before = new Before(connection.getAutoCommit(), limit(connection));
            if (!before.autoCommit()) {
                connection.setAutoCommit(true);
            }
            synchronized (borrowed) {
                borrowed.put(connection, before);
            }
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                connection.close();
            }
        }
    }

    // Sets the network timeout, unless the connection has a shorter one. Returns the value to restore, or UNKNOWN.
    private int limit(Connection connection) throws SQLException {
        try {
            int before = connection.getNetworkTimeout();
            if (before != 0 && before <= timeoutMillis) {
                return UNKNOWN;
            }
            connection.setNetworkTimeout(Runnable::run, timeoutMillis);
            return before;
        } catch (SQLFeatureNotSupportedException without) {
            return UNKNOWN;
        }
    }

    @Override
    public void giveBack(Connection connection) throws SQLException {
        Before before;
        synchronized (borrowed) {
            before = borrowed.remove(connection);
        }
        try (connection) {
            restore(connection, before);
        }
    }

    private static void restore(Connection connection, @Nullable Before before) throws SQLException {
        if (before == null || connection.isClosed()) {
            return;
        }
        if (before.networkTimeout() != UNKNOWN) {
            connection.setNetworkTimeout(Runnable::run, before.networkTimeout());
        }
        if (!before.autoCommit()) {
            connection.setAutoCommit(false);
        }
    }

    @Override
    public boolean keep() {
        return false;
    }

    /** Does nothing: the pool is the user's. */
    @Override
    public void close() {}

    @Override
    public String toString() {
        return "the given DataSource";
    }
}
