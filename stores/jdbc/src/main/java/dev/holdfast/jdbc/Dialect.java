package dev.holdfast.jdbc;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What differs from database to database: the clock, the statements that no standard covers, the start of a transaction,
 * and the meaning of error codes. Once started, a dialect has no state that changes.
 *
 * <p>All times are microseconds on the dialect's clock, as the SQL expression {@link #now} gives them when a statement
 * runs; {@link #epoch} is the wall clock in microseconds since 1970, for counters. In the SQL of this package {@code $now}
 * and {@code $epoch} stand for them.
 */
abstract class Dialect {

    private final Map<String, String> sql = new ConcurrentHashMap<>();

    /** A short name for people. */
    abstract String product();

    /** Which clock the times of a row are on. A row with another value was written on a clock that is gone, and is over. */
    abstract String clock();

    /** The time as a SQL expression. */
    abstract String now();

    /** The wall clock as a SQL expression. */
    abstract String epoch();

    /** The statements that make the tables, each of which must bear to be run twice. */
    abstract List<String> createTables();

    /**
     * The one statement that takes a resource which nobody holds, waits for or has left a tombstone on, whether its row
     * exists or not. Parameters: name, clock, holder, permits, capacity, lease in microseconds, owner, and what {@link
     * #bindEpoch} sets. It answers with one row, the counter, if it did, and with none if it did not.
     */
    abstract String acquireFree();

    /**
     * The one statement that renews sole holders. Parameters: for each claim its name, holder, lease in microseconds and
     * owner; then the clock. It answers with name, holder, held and what is left of the lease for each that it renewed.
     */
    abstract String renewSole(int claims);

    /** Sets the parameter of {@link #acquireFree} that is the wall clock, in a dialect whose database does not tell it. */
    void bindEpoch(PreparedStatement statement, int index) throws SQLException {}

    /** Sets a parameter to a name, in a type that is compared byte by byte. */
    abstract void bindName(PreparedStatement statement, int index, String name) throws SQLException;

    abstract LockName readName(ResultSet rows, int index) throws SQLException;

    /** Prepares a connection that was just opened or borrowed; it is in autocommit mode. */
    abstract void prepare(Connection connection) throws SQLException;

    /** What is to be done once, when the tables are known to be right and before anything else. */
    void start(LockStatements statements) throws SQLException {}

    /**
     * Begins a transaction that changes rows.
     *
     * @param rows how many; a dialect whose rows are written back by compare-and-set may leave one row to autocommit
     */
    abstract void begin(LockStatements statements, int rows) throws SQLException;

    abstract void commit(LockStatements statements) throws SQLException;

    /** Ends a transaction without effect. No transaction is no error. */
    abstract void rollBack(LockStatements statements) throws SQLException;

    /** Makes later statements of a connection give up waiting for other clients after this long. */
    abstract void limitWait(Connection connection, Duration most) throws SQLException;

    /** Whether another client came first, so that the same statement may be run again at once. It had no effect. */
    abstract boolean isRace(SQLException failure);

    /** Whether a statement failed because a table or a column is not there. */
    abstract boolean isMissing(SQLException failure);

    /** Whether a connection is of no more use after a failure. */
    abstract boolean breaksConnection(SQLException failure);

    /** The failure as the engine must see it. */
    abstract StoreException failure(SQLException failure);

    /** A statement of this package in this dialect. */
    final String sql(String template) {
        return sql.computeIfAbsent(template, text -> text.replace("$now", now()).replace("$epoch", epoch()));
    }
}
