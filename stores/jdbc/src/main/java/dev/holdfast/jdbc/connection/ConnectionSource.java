package dev.holdfast.jdbc.connection;

import java.sql.Connection;
import java.sql.SQLException;

/** The source of a store's connections. Thread-safe. */
public interface ConnectionSource extends AutoCloseable {

    /** A connection in autocommit mode, prepared for the dialect. */
    Connection open() throws SQLException;

    /** How long one who calls again and again has a connection, with its prepared statements. */
    enum Use {
        /** For as long as it works. To open one is a matter of a moment, and waits for nobody. */
        FOR_EVER,
        /** While it is used now and then, and nothing fails. After that it goes back to the store's own pool. */
        WHILE_BUSY,
        /** For a call: then it goes back to a pool that has other users. */
        FOR_A_CALL
    }

    Use use();

    /**
     * How many connections were found broken. Those that were opened before the last of them lead to the same server, most likely,
     * and are not to be used again.
     */
    default int broken() {
        return 0;
    }

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
