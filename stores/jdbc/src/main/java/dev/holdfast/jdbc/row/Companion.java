package dev.holdfast.jdbc.row;

import java.sql.SQLException;

/**
 * What must change together with a row, in the same transaction: a table of the user's in which other programs see the lock.
 * Not thread-safe.
 */
public interface Companion {

    /** Nothing else changes. */
    Companion NONE = (statements, before, after) -> {};

    /**
     * Looks before anything is written whether a change of the row is possible, so that one that is not writes nothing. It
     * may be wrong: {@link #follow} decides.
     */
    default boolean admits(LockStatements statements, LockRow before, LockRow after) throws SQLException {
        return true;
    }

    /**
     * Is called after the row was written, and before the commit. If it throws, the row stays as it was.
     *
     * @throws TakenElsewhereException if the change is not possible
     */
    void follow(LockStatements statements, LockRow before, LockRow after) throws SQLException;

    /** A lock that a row shows as free is held by a program that does not know the row. Nothing was written. */
    final class TakenElsewhereException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        public TakenElsewhereException() {
            super(null, null, false, false);
        }
    }
}
