package dev.holdfast.jdbc.connection;

import java.sql.Connection;
import java.sql.SQLException;

/** The source of a store's connections. Thread-safe. */
public interface ConnectionSource extends AutoCloseable {

    /** A connection in autocommit mode, prepared for the dialect. */
    Connection open() throws SQLException;

    /**
     * Whether a connection is kept for as long as it works, with its prepared statements. Otherwise it goes back
     * after each call to a pool, which checks and replaces it.
     */
    boolean keep();

    /** Ends the use of a connection of {@link #open}. */
    default void giveBack(Connection connection) throws SQLException {
        connection.close();
    }

    /** Ends the use of a connection of {@link #open} that must not be used again. */
    default void discard(Connection connection) throws SQLException {
        giveBack(connection);
    }

    @Override
    void close();
}
