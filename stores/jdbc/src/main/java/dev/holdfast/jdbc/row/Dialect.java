package dev.holdfast.jdbc.row;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Renewed.Held;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What differs from database to database: the clock, the statements that no standard covers, the start of a transaction,
 * and the meaning of error codes. Once started, a dialect has no state that changes, but for guesses that spare a statement.
 *
 * <p>All times are microseconds on the dialect's clock, as the SQL expression {@link #now} gives them when a statement
 * runs; {@link #epoch} is the wall clock in microseconds since 1970, for counters. In the SQL of this package {@code $now}
 * and {@code $epoch} stand for them.
 */
public abstract class Dialect {

    private final Map<String, String> sql = new ConcurrentHashMap<>();
    private final Map<String, String> made = new ConcurrentHashMap<>();

    /** A short name for people. */
    public abstract String product();

    /** Which clock the times of a row are on. A row with another value was written on a clock that is gone, and is over. */
    public abstract String clock();

    /** The time as a SQL expression. */
    public abstract String now();

    /** The wall clock as a SQL expression. */
    public abstract String epoch();

    /** Whether the database's clock is one that this process can read itself, without a statement. */
    public boolean tellsTime() {
        return false;
    }

    /** The time, in a dialect that {@link #tellsTime}. */
    public long nowMicros() {
        throw new UnsupportedOperationException(product() + " tells the time by statements only");
    }

    /** The wall clock, in a dialect that {@link #tellsTime}. */
    public long epochMicros() {
        throw new UnsupportedOperationException(product() + " tells the time by statements only");
    }

    /** The statements that make the tables, each of which must bear to be run twice. */
    public abstract List<String> createTables();

    /**
     * The one statement that takes a resource which nobody holds, waits for or has left a tombstone on, whether its row
     * exists or not. Parameters: name, clock, holder, permits, capacity, lease in microseconds, owner, and what {@link
     * #bindEpoch} sets. It answers with one row, the counter, if it did, and with none if it did not.
     */
    public String acquireFree() {
        throw new UnsupportedOperationException(product() + " takes free resources in another way");
    }

    /**
     * The one statement that renews sole holders. Parameters: for each claim its name, holder, lease in microseconds and
     * owner; then the clock. It answers with name, holder, held and what is left of the lease for each that it renewed.
     */
    public String renewSole(int claims) {
        throw new UnsupportedOperationException(product() + " renews in another way");
    }

    /** Runs {@link #acquireFree()}, or does the same otherwise: the new counter, or 0. */
    public long acquireFree(LockStatements statements, Claim claim) throws SQLException {
        return statements.acquireFree(claim);
    }

    /** Runs {@link #renewSole(int)}, or does the same otherwise. What is not put into {@code renewed} was not renewed. */
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Held> renewed)
            throws SQLException {
        statements.renewSole(claims, renewed);
    }

    /** Releases a sole holder. Parameters: name, holder, clock. One row, counted or told, says that it did. */
    public String releaseSole() {
        return LockStatements.RELEASE_SOLE;
    }

    /**
     * Writes a row if its version is as it was read. It may leave a row that another client has locked as it is. Parameters:
     * the columns, then name and version, or the other way round if {@link #keysFirst()}.
     */
    public String update() {
        return LockStatements.UPDATE;
    }

    public boolean keysFirst() {
        return false;
    }

    /** Whatever has one row, to select the time from. */
    public String oneRow() {
        return "(SELECT 1 AS one) AS told";
    }

    /** Whether {@code LIMIT ?} is understood; else the driver is told how many rows are wanted. */
    public boolean knowsLimit() {
        return true;
    }

    /** How long the driver lets a statement run, for databases that cannot be told not to wait; 0 for as long as it takes. */
    public int queryTimeoutSeconds() {
        return 0;
    }

    /** Sets the parameter of {@link #acquireFree} that is the wall clock, in a dialect whose database does not tell it. */
    public void bindEpoch(PreparedStatement statement, int index) throws SQLException {}

    /** How names are kept. */
    public abstract NameEncoding names();

    public final void bindName(PreparedStatement statement, int index, String name) throws SQLException {
        names().bind(statement, index, name);
    }

    public final LockName readName(ResultSet rows, int index) throws SQLException {
        return names().read(rows, index);
    }

    /** Where the table of the locks is; null, or a failure that {@link #isMissing}, if it is not there. */
    @Nullable
    public TablePlace place(Connection connection) throws SQLException {
        return TablePlace.ofQuery(connection);
    }

    /** The type of the column that a row of metadata is about. */
    public ColumnType type(ResultSet columns) throws SQLException {
        return ColumnType.of(columns);
    }

    /** Prepares a connection that was just opened or borrowed; it is in autocommit mode. */
    public abstract void prepare(Connection connection) throws SQLException;

    /** What is to be done once, when the tables are known to be right and before anything else. */
    public void start(LockStatements statements) throws SQLException {}

    /**
     * Begins a transaction that changes rows.
     *
     * @param rows how many; a dialect whose rows are written back by compare-and-set may leave one row to autocommit
     */
    public abstract void begin(LockStatements statements, int rows) throws SQLException;

    public abstract void commit(LockStatements statements) throws SQLException;

    /** Ends a transaction without effect. No transaction is no error. */
    public abstract void rollBack(LockStatements statements) throws SQLException;

    /** Makes later statements of a connection give up waiting for other clients after this long. */
    public abstract void limitWait(Connection connection, Duration most) throws SQLException;

    /** Whether another client came first, so that the same statement may be run again at once. It had no effect. */
    public abstract boolean isRace(SQLException failure);

    /** Whether a statement gave up waiting for a row that another client's transaction holds. It had no effect. */
    public boolean isLocked(SQLException failure) {
        return false;
    }

    /** Whether a statement failed because a table or a column is not there. */
    public abstract boolean isMissing(SQLException failure);

    /** Whether a connection is of no more use after a failure. */
    public abstract boolean breaksConnection(SQLException failure);

    /** The failure as the engine must see it. */
    public abstract StoreException failure(SQLException failure);

    /** A statement, ready to run. It is put together once: to do so each time would cost more than to send it. */
    final String ready(String name, Supplier<String> template) {
        String ready = made.get(name);
        return ready != null ? ready : made.computeIfAbsent(name, unused -> sql(template.get()));
    }

    /** A statement of this package in this dialect. */
    public final String sql(String template) {
        return sql.computeIfAbsent(template, text -> text.replace("$now", now()).replace("$epoch", epoch()));
    }
}
