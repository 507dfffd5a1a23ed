package dev.holdfast.jdbc.row;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Since when a database that is a node of a quorum has kept its data without an event in which it may have lost some.
 *
 * @param since the time at which the present incarnation was first seen; no two incarnations have the same
 * @param age how long ago that was
 * @param server is the same for all databases of one server, and another one for each other server
 */
public record NodeMark(long since, Duration age, String server) {

    private static final String PRINTED = "\"holdfast schema --store URL\" prints it";

    /**
     * Reads the mark, and writes it if there is none of the present incarnation. It runs in a transaction that has read the table of
     * the locks before, so that nobody replaces that table until the transaction ends.
     */
    static NodeMark read(LockStatements statements, Dialect dialect) throws SQLException {
        Optional<NodeMark> known = readFirst(statements, dialect);
        if (known.isPresent()) {
            return known.get();
        }
        // Another client may do the same: then this statement waits for it, and does nothing.
        statements.change(dialect.ready("write mark", dialect::writeNodeMark), statement -> {});
        return readOnce(statements, dialect)
                .orElseThrow(() -> StoreException.unavailable(
                        Effect.NONE, dialect.tables().in("Table holdfast_node was changed by another client"), null));
    }

    private static Optional<NodeMark> readFirst(LockStatements statements, Dialect dialect) throws SQLException {
        try {
            return readOnce(statements, dialect);
        } catch (SQLException failure) {
            // The table of the locks was read before, so it is not that one. Nobody must be told to drop that.
            if (dialect.isMissing(failure)) {
                throw refused(
                        dialect, "Table holdfast_node is missing or lacks a column: make it as " + PRINTED, failure);
            }
            throw failure;
        }
    }

    private static StoreException refused(Dialect dialect, String why, @Nullable SQLException cause) {
        return StoreException.refused(dialect.tables().in(why), cause);
    }

    private static Optional<NodeMark> readOnce(LockStatements statements, Dialect dialect) throws SQLException {
        return statements.query(dialect.ready("read mark", dialect::readNodeMark), statement -> {}, rows -> {
            if (!rows.next()) {
                throw refused(dialect, "Table holdfast_node is missing: make it as " + PRINTED, null);
            }
            String distrust = rows.getString(3);
            if (distrust != null) {
                throw StoreException.refused(distrust, null);
            }
            long now = rows.getLong(2);
            long since = rows.getLong(1);
            // The clock may have been set back.
            return rows.wasNull()
                    ? Optional.empty()
                    : Optional.of(new NodeMark(since, RowCodec.duration(Math.max(0, now - since)), rows.getString(4)));
        });
    }
}
