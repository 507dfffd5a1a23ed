package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** What databases that are reached through a pool have in common: transactions by JDBC's own means, and short waits. */
public abstract class PooledDialect extends Dialect {

    @Override
    public void prepare(Connection connection) {}

    // A single row is changed by compare-and-set in autocommit, so that no client holds a row between two statements.
    @Override
    public void begin(LockStatements statements, int rows) throws SQLException {
        if (rows > 1) {
            statements.connection().setAutoCommit(false);
        }
    }

    @Override
    public void commit(LockStatements statements) throws SQLException {
        Connection connection = statements.connection();
        if (!connection.getAutoCommit()) {
            connection.commit();
            connection.setAutoCommit(true);
        }
    }

    @Override
    public void rollBack(LockStatements statements) throws SQLException {
        Connection connection = statements.connection();
        if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    // No statement waits for long, and a transition tries again only while its call has time left.
    @Override
    public void limitWait(Connection connection, Duration most) {}

    // The pool looks at what it gets back.
    @Override
    public boolean breaksConnection(SQLException failure) {
        return false;
    }

    /** What a failure says. A pool that gives no connection says for how long it tried, and its cause why it failed. */
    static String withCause(SQLException failure) {
        String said = String.valueOf(failure.getMessage());
        return failure.getCause() instanceof SQLException cause && !said.contains(String.valueOf(cause.getMessage()))
                ? said + ": " + withCause(cause)
                : said;
    }
}
