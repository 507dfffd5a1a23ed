package dev.holdfast.jdbc.connection;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.IdentityHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Connections of the user's own pool: borrowed for a call, and given back in their former state. Thread-safe. */
public final class BorrowedConnections implements ConnectionSource {

    private record Before(boolean autoCommit, int networkTimeout) {}

    private final DataSource pool;
    private final int timeoutMillis;
    private final IdentityHashMap<Connection, Before> borrowed = new IdentityHashMap<>();
    /** Whether the pool's connections come in autocommit mode, as the first one did; null before that. */
    private @Nullable Boolean usual;

    public BorrowedConnections(DataSource pool, Duration statementTimeout) {
        this.pool = pool;
        this.timeoutMillis = Math.toIntExact(statementTimeout.toMillis());
    }

    @Override
    public Connection open() throws SQLException {
        Connection connection = pool.getConnection();
        boolean ready = false;
        boolean isChanged = false;
        try {
            boolean autoCommit = connection.getAutoCommit();
            refuseTransaction(autoCommit);
            isChanged = true;
            Before before = new Before(autoCommit, NetworkTimeout.limit(connection, timeoutMillis));
            if (!autoCommit) {
                connection.setAutoCommit(true);
            }
            synchronized (borrowed) {
                borrowed.put(connection, before);
            }
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                end(connection, !isChanged);
            }
        }
    }

    // Where connections come in autocommit mode, one that does not is in somebody's transaction, which the
    // change to autocommit would commit. Where they do not, nothing shows whether a transaction has begun.
    private void refuseTransaction(boolean autoCommit) throws SQLException {
        synchronized (borrowed) {
            if (usual == null) {
                usual = autoCommit;
            }
            if (usual && !autoCommit) {
                throw new SQLTransientConnectionException(
                        this + " gave a connection that is in a transaction of the program's."
                                + " Locks need connections of their own: give Holdfast the pool itself, not a DataSource that shares"
                                + " one connection among several callers");
            }
        }
    }

    @Override
    public void giveBack(Connection connection) throws SQLException {
        Before before;
        synchronized (borrowed) {
            before = borrowed.remove(connection);
        }
        boolean isRestored = false;
        try {
            restore(connection, before);
            isRestored = true;
        } finally {
            end(connection, isRestored);
        }
    }

    @Override
    public void discard(Connection connection) throws SQLException {
        synchronized (borrowed) {
            borrowed.remove(connection);
        }
        end(connection, false);
    }

    // A pool keeps no connection that is closed underneath. Some drivers, such as that of H2, do nothing to abort one.
    // The pool that is part of H2 gets it back all the same, because its connections unwrap to themselves; it undoes
    // what was begun there.
    private static void end(Connection connection, boolean isAsBefore) throws SQLException {
        try (connection) {
            if (!isAsBefore) {
                try {
                    connection.abort(Runnable::run);
                } finally {
                    connection.unwrap(Connection.class).close();
                }
            }
        }
    }

    private static void restore(Connection connection, @Nullable Before before) throws SQLException {
        if (before == null || connection.isClosed()) {
            return;
        }
        if (before.networkTimeout() != NetworkTimeout.UNCHANGED) {
            connection.setNetworkTimeout(Runnable::run, before.networkTimeout());
        }
        if (!before.autoCommit()) {
            connection.setAutoCommit(false);
        }
    }

    @Override
    public Use use() {
        return Use.FOR_A_CALL;
    }

    /** Does nothing: the pool is the user's. */
    @Override
    public void close() {}

    @Override
    public String toString() {
        return "the given DataSource";
    }
}
