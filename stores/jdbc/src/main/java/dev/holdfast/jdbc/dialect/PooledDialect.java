package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/**
 * The common part of dialects whose connections come from a pool: transactions by the methods of JDBC, and short
 * waits.
 */
public abstract class PooledDialect extends Dialect {

    @Override
    public void prepare(Connection connection) {}

    // A single row is changed by compare-and-set in autocommit, so that no client keeps a row locked between two
    // statements.
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
        }
    }

    @Override
    public void rollBack(LockStatements statements) throws SQLException {
        Connection connection = statements.connection();
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
    }

    @Override
    public void reset(LockStatements statements) throws SQLException {
        Connection connection = statements.connection();
        if (!connection.getAutoCommit()) {
            connection.setAutoCommit(true);
        }
    }

    // Nothing to do: no statement waits for long, and a transition tries again only while its call has time left.
    @Override
    public void limitWait(Connection connection, Duration most) {}

    // The pool itself drops connections that are broken. What it does not know are connections that lead to the wrong
    // server.
    @Override
    public boolean breaksConnection(SQLException failure) {
        return false;
    }

    /**
     * The message of a failure with its causes: a pool's message has only the time it waited, its cause has the
     * reason.
     */
    static String withCause(SQLException failure) {
        String said = String.valueOf(failure.getMessage());
        return failure.getCause() instanceof SQLException cause && !said.contains(String.valueOf(cause.getMessage()))
                ? said + ": " + withCause(cause)
                : said;
    }
}
