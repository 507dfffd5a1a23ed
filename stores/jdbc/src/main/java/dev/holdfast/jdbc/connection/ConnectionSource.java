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
        /** While it is used now and then, and works. After that it goes back to the store's own pool. */
        WHILE_BUSY,
        /** For a call: then it goes back to a pool that has other users. */
        FOR_A_CALL
    }

    Use use();

    /** How often all connections were discarded. One that was opened before the last time is given back, and not used again. */
    default int discards() {
        return 0;
    }

    /** How often a connection broke. One that is kept is checked when that has grown: perhaps their server has gone. */
    default int breaks() {
        return 0;
    }

    /** A connection has broken. */
    default void broke() {}

    /** Ends the use of a connection of {@link #open}. */
    default void giveBack(Connection connection) throws SQLException {
        connection.close();
    }

    /** Ends the use of a connection of {@link #open} that must not be used again. */
    default void discard(Connection connection) throws SQLException {
        giveBack(connection);
    }

    /**
     * Ends the use of a connection that has shown that its server is not the one that is wanted. The others that were opened before
     * it lead to the same server, and are not used again either.
     *
     * @param discardsBefore what {@link #discards} was before the connection was opened. If that has grown, the others are newer
     */
    default void discardAll(Connection connection, int discardsBefore) throws SQLException {
        discard(connection);
    }

    @Override
    void close();
}
