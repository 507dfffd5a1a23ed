package dev.holdfast.jdbc.row;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What differs from database to database: the clock, the statements that no standard covers, the start of a transaction,
 * and the meaning of error codes. Once started, a dialect has no state that changes, except for guesses that save a
 * statement.
 *
 * <p>All times are microseconds on the dialect's clock, as the SQL expression {@link #now} gives them when a statement
 * runs; {@link #epoch} is the wall clock in microseconds since 1970, for counters. In the SQL of this package {@code $now}
 * and {@code $epoch} stand for them, and {@code holdfast_lock} and {@code holdfast_schema} for the tables, which may have other names.
 */
public abstract class Dialect {

    private final Map<String, String> sql = new ConcurrentHashMap<>();
    private final Map<String, String> made = new ConcurrentHashMap<>();
    private LockTables tables = LockTables.STANDARD;

    /** Sets which tables the statements use. It is called once, before anything else. */
    public final void keepIn(LockTables ours) {
        tables = ours;
    }

    /** A short name of the database product. */
    public abstract String product();

    /**
     * The id of the clock for the times of a row. A row with another id was written on an earlier clock, and is
     * void.
     */
    public abstract String clock();

    /** The time as a SQL expression. */
    public abstract String now();

    /** The wall clock as a SQL expression. */
    public abstract String epoch();

    /** The statements that create the tables. It must do no harm to run one of them twice. */
    public abstract List<String> createTables();

    /** The statement that creates the table of the mark of a node; null if the database cannot be one, or needs no table. */
    public @Nullable String createNodeTable() {
        return null;
    }

    /** A query with one row whose only column says whether there is a table of the mark; for {@link #createNodeTable}. */
    public String hasNodeTable() {
        throw new UnsupportedOperationException(product() + " cannot be a node of a quorum");
    }

    /**
     * The one statement that acquires a resource without holders, waiters and tombstones, whether its row exists or
     * not. Parameters: name, clock, holder, permits, capacity, lease in microseconds, owner, and what {@link
     * #bindEpoch} sets. It returns one row with the counter if it acquired the resource, and otherwise none.
     */
    public String acquireFree() {
        throw new UnsupportedOperationException(product() + " takes free resources in another way");
    }

    /**
     * The one statement that renews sole holders. Parameters: for each claim its name, holder, lease in microseconds
     * and owner; then the clock. It returns name, holder, held and the time left of the lease for each claim that it
     * renewed.
     */
    public String renewSole(int claims) {
        throw new UnsupportedOperationException(product() + " renews in another way");
    }

    /** Runs {@link #acquireFree()}, or does the same in another way. Returns the new counter, or 0. */
    public long acquireFree(LockStatements statements, Claim claim) throws SQLException {
        return statements.acquireFree(claim);
    }

    /**
     * Runs {@link #renewSole(int)}, or does the same in another way. A claim that is not put into {@code renewed}
     * was not renewed.
     */
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        statements.renewSole(claims, renewed);
    }

    /**
     * Releases a sole holder. Parameters: name, holder, clock. It counts or returns one row if it released the
     * holder.
     */
    public String releaseSole() {
        return LockStatements.RELEASE_SOLE;
    }

    /** Whether there are {@link #join} and {@link #handOver}. */
    public boolean hasQueueStatements() {
        return false;
    }

    /**
     * Whether a transition follows at once where these did nothing, without a try of the statements for a lock that is free or has
     * one holder: because these skip a row that another client has locked, so that a statement which cannot skip would fail,
     * most likely; or because a transition costs hardly more.
     */
    public boolean transitionFollows() {
        return false;
    }

    /** Whether claims that leave room for others join a queue with {@link #join}, too. Most often they need not join. */
    public boolean joinsShared() {
        return true;
    }

    /**
     * The one statement that appends a claim to the queue of a resource whose holder lives and leaves no room for any other
     * claim. Parameters: name, clock, id, permits, limit, the ticket's time to live in microseconds,
     * owner. It returns one row with the holder's {@code expires}, the new {@code more} and the new {@code others}, and none if it did nothing: the
     * condition is not true, the claim is in the row already, or the queue is full. It may wait for other clients.
     */
    public String join() {
        throw new UnsupportedOperationException(product() + " changes queues by transitions");
    }

    /**
     * The one statement that ends such a holder and grants the resource to the first in the queue. Parameters: name, clock, the holder's id, the ticket's time to live in microseconds. It returns one row with the id of
     * the new holder, its counter, the time of its lease and the new {@code more}, and none if it did nothing: the first
     * entry is no waiter whose ticket is valid and who claims all permits. It may wait for other clients.
     */
    public String handOver() {
        throw new UnsupportedOperationException(product() + " changes queues by transitions");
    }

    /** Runs {@link #join()}, or does the same in another way. Empty if it did nothing. */
    public Optional<Joined> join(LockStatements statements, Claim claim, Duration ticketTtl) throws SQLException {
        return statements.join(claim, ticketTtl);
    }

    /** Runs {@link #handOver()}, or does the same in another way. Empty if it did nothing. */
    public Optional<HandedOver> handOver(LockStatements statements, Claim claim, Duration ticketTtl)
            throws SQLException {
        return statements.handOver(claim, ticketTtl);
    }

    /** Whether there is {@link #refresh}. */
    public boolean hasRefresh() {
        return false;
    }

    /**
     * The one statement that refreshes the ticket of a claim behind such a holder. The parameters are those of {@link #join}. It
     * returns one row with the holder's {@code expires}, and the new {@code others} up to the end of the claim's entry; and none
     * if it did nothing: the condition is not true, or the claim does not wait with a valid ticket. It may wait for other clients.
     */
    public String refresh() {
        throw new UnsupportedOperationException(product() + " refreshes tickets by transitions");
    }

    /**
     * Writes a row if its version is as it was read. It may skip a row that another client has locked. Parameters:
     * the columns, then name and version, or name and version first if {@link #keysFirst()}.
     */
    public String update() {
        return LockStatements.UPDATE;
    }

    /** Writes a row that does not exist yet. Parameters: the columns, then name and version. */
    public String insert() {
        return LockStatements.INSERT;
    }

    public boolean keysFirst() {
        return false;
    }

    /**
     * Removes rows whose locks are idle. It may leave out rows that another client has locked. Parameters: names, and those of
     * {@link #isIdle}.
     */
    public String removeIdle(int names) {
        return "DELETE FROM holdfast_lock WHERE " + isIdle(names);
    }

    /**
     * The condition that a row belongs to one of some names, and that its lock has been idle for long. Parameters: names, how
     * long in microseconds, clock.
     */
    protected static String isIdle(int names) {
        return "name IN (" + LockStatements.marks(names) + ") AND " + LockStatements.IS_IDLE;
    }

    /** What the counters survive. */
    public TokenSurvival tokens() {
        return TokenSurvival.RESTART;
    }

    /** Whether the database can be a node of a quorum: {@link #readNodeMark} and {@link #writeNodeMark} tell its age. */
    public boolean canBeNode() {
        return false;
    }

    /** Whether a client can notify the others through the database. */
    public boolean canNotify() {
        return false;
    }

    /**
     * Reads the mark of the database's present incarnation: since when it has kept its data, and the time. The first is null if
     * there is no mark of this incarnation. The third column is why the mark cannot be trusted, null if it can. The fourth
     * is the server, as in {@link NodeMark#server}. It is run in a transaction that has read the table of the locks before.
     */
    public String readNodeMark() {
        throw new UnsupportedOperationException(product() + " cannot be a node of a quorum");
    }

    /** Writes a mark of the present incarnation, unless there is one. It has no parameters. */
    public String writeNodeMark() {
        throw new UnsupportedOperationException(product() + " cannot be a node of a quorum");
    }

    /**
     * Reads the heads of the rows of some names that were changed, in a dialect that reads them so. Parameters: the clock; for each
     * name the name, the version that was seen last, and a text. It returns name, version, holder, held, since, expires, whether
     * the holder has all permits, and the position of the text in that of the queue, from 1 on; the version 0 for a name without a row.
     */
    public String changedHeads(int names) {
        throw new UnsupportedOperationException(product() + " reads whole rows");
    }

    /** A table expression with one row, to select the time from. */
    public String oneRow() {
        return "(SELECT 1 AS one) AS single";
    }

    /** The failure of a read that found not even {@link #oneRow}. */
    public StoreException noRow() {
        return StoreException.refused(
                "Table holdfast_schema of " + product()
                        + " has no row, so the time cannot be read. Somebody has deleted it",
                null);
    }

    /** Whether {@code LIMIT ?} is supported; otherwise the limit is set with {@code setMaxRows}. */
    public boolean knowsLimit() {
        return true;
    }

    /**
     * The query timeout, for databases in which a statement cannot be made not to wait for locks; 0 for no timeout.
     */
    public int queryTimeoutSeconds() {
        return 0;
    }

    /**
     * Sets the wall clock as a parameter of {@link #acquireFree}, in a dialect whose statement does not read it
     * itself.
     */
    public void bindEpoch(PreparedStatement statement, int index) throws SQLException {}

    /** How names are stored. */
    public abstract NameEncoding names();

    public final void bindName(PreparedStatement statement, int index, String name) throws SQLException {
        names().bind(statement, index, name);
    }

    public final LockName readName(ResultSet rows, int index) throws SQLException {
        return names().read(rows, index);
    }

    /** Finds the table of the locks; null, or a failure for which {@link #isMissing} is true, if there is none. */
    @Nullable
    public final TablePlace place(Connection connection) throws SQLException {
        return place(connection, tables);
    }

    /** The same for the first of other tables. */
    @Nullable
    public TablePlace place(Connection connection, LockTables others) throws SQLException {
        return TablePlace.ofQuery(connection, others);
    }

    /** Whether the locks may be shared with programs that keep them in a table of their own. */
    public boolean canAdopt() {
        return false;
    }

    /** The engine of a table that takes no part in transactions; null if it does. */
    @Nullable
    public String engineWithoutTransactions(Connection connection, TablePlace place) throws SQLException {
        return null;
    }

    /**
     * The time of the statement, as a SQL expression for a column of a type.
     *
     * @param type the type as JDBC reports its name
     * @param isUtc whether a time without a zone is in UTC, or else in the zone of the session; null if that is not known
     * @return null if this column can have no such time, or one without a zone while that is not known
     */
    @Nullable
    public String timeIn(String type, @Nullable Boolean isUtc) {
        return null;
    }

    /**
     * A read in autocommit that does not wait long for somebody who has locked the whole table.
     *
     * @param sql what is read
     */
    public String impatient(String sql) {
        return sql;
    }

    /** A statement that limits those waits in a transaction, for a dialect whose reads need one; null for others. */
    public @Nullable String impatience() {
        return null;
    }

    /**
     * Whether the time in a column is older than so many microseconds, as a SQL condition.
     *
     * @param column a column for which there is a {@link #timeIn}
     * @param type its type as JDBC reports its name
     * @param now what {@link #timeIn} returned for it
     */
    public String isOlder(String column, String type, String now, long micros) {
        return column + " < " + earlier(now, micros);
    }

    /** A time that is earlier than that of another expression. */
    protected String earlier(String time, long micros) {
        throw new UnsupportedOperationException(product() + " shares no table");
    }

    /** The type of the column that a row of metadata describes. */
    public ColumnType type(ResultSet columns) throws SQLException {
        return ColumnType.of(columns);
    }

    /** Prepares a connection that was just opened or borrowed; it is in autocommit mode. */
    public abstract void prepare(Connection connection) throws SQLException;

    /** Prepares the dialect. It is called once, after the tables were checked and before anything else. */
    public void start(LockStatements statements) throws SQLException {}

    /**
     * Begins a transaction that changes rows.
     *
     * @param rows how many rows; a dialect that writes rows back by compare-and-set may use autocommit for one row
     */
    public abstract void begin(LockStatements statements, int rows) throws SQLException;

    /**
     * Whether nobody else can write from the {@link #begin} of a transaction to its end. Then a transition in it wins
     * every race, but all other clients wait for it.
     */
    public boolean beginExcludesWriters() {
        return false;
    }

    public abstract void commit(LockStatements statements) throws SQLException;

    /**
     * To be called when a statement was run, before its answer is believed.
     *
     * @throws SQLException if its effect may be lost although the database reports no failure
     */
    public void checkDone(Statement statement) throws SQLException {}

    /**
     * What a read selects in addition by which a client may learn of a grant, with a comma before it. The read is then answered when
     * what it has found is as durable as a commit that was answered, or {@link #readsNeedConfirmation} says that it may not be.
     * Empty where all that can be read is.
     */
    public String confirmation() {
        return "";
    }

    /**
     * Whether {@link #confirm} must be called before a grant is believed that a read has found.
     *
     * @param rows the result of the read
     * @param column that of {@link #confirmation}, if it selects one
     */
    public boolean readsNeedConfirmation(ResultSet rows, int column) throws SQLException {
        return false;
    }

    /**
     * Waits until all that can be read by now is as durable as a commit that was answered.
     *
     * @param names the locks of the grants that were read
     */
    public void confirm(LockStatements statements, Collection<LockName> names) throws SQLException {}

    /** Ends a transaction without effect. It is no error if there is no transaction. */
    public abstract void rollBack(LockStatements statements) throws SQLException;

    /**
     * Takes back what {@link #begin} changed in the session, after the transaction has ended. If this fails, the session is not used
     * any more, and the outcome of the transaction is what it was.
     */
    public void reset(LockStatements statements) throws SQLException {}

    /**
     * Inserts a row that another client may be inserting at the same time, in a transaction that does not end. So the wait
     * for it is limited, in the insert itself or around it.
     */
    public int insertRow(LockStatements statements, LockStatements.Change insert) throws SQLException {
        return insert.run();
    }

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

    /** Whether a connection cannot be used any more after a failure. */
    public abstract boolean breaksConnection(SQLException failure);

    /** Converts a failure to the exception for the engine. */
    public abstract StoreException failure(SQLException failure);

    /** A statement, ready to run. It is built once: to build it each time would cost more than to send it. */
    protected final String ready(String name, Supplier<String> template) {
        String ready = made.get(name);
        return ready != null ? ready : made.computeIfAbsent(name, unused -> sql(template.get()));
    }

    /** A statement of this package in this dialect. */
    public final String sql(String template) {
        return sql.computeIfAbsent(
                template, text -> tables.in(text.replace("$now", now()).replace("$epoch", epoch())));
    }

    /** The tables that the statements use. */
    public final LockTables tables() {
        return tables;
    }
}
