package dev.holdfast.fence.jdbc;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.jdbc.config.SqlName;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.jdbc.sqlite.HostClock;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The checks for fencing in a database. They make a transaction of the user's fail if its lock was lost, so that a
 * holder which was paused beyond its lease cannot commit.
 *
 * <pre>{@code
 * JdbcFence fence = JdbcFence.standard();
 *
 * try (Lease lease = locks.lock("order:42").acquire()) {
 *     connection.setAutoCommit(false);
 *     ...                                        // read and write, as long as it takes
 *     fence.requireLive(connection, lease);      // or: fence.advance(connection, lease)
 *     connection.commit();
 * }
 * }</pre>
 *
 * <table>
 * <caption>Three guards</caption>
 * <tr><th>guard</th><th>locks kept in</th><th>grants</th><th>what it does</th></tr>
 * <tr><td>{@link FencedTable}</td><td>any store</td><td>exclusive</td><td>compares the token in each write of a row</td></tr>
 * <tr><td>{@link #advance}</td><td>any store</td><td>exclusive</td><td>compares the token once for a transaction, in the
 *     table {@code holdfast_fence}</td></tr>
 * <tr><td>{@link #requireLive}</td><td>this database</td><td>all</td><td>asserts that the claim is live, and keeps it so
 *     until the transaction ends</td></tr>
 * </table>
 *
 * <h2>Guarantees</h2>
 *
 * <ul>
 *   <li>{@code advance}: transactions that advance one resource commit in the order of their tokens, and none whose token is
 *       smaller than one that was committed. Until one ends, the others wait at {@code advance}.
 *   <li>{@code requireLive}: from the grant until the transaction ends nobody else held the name, so what the transaction
 *       read since the grant is what it finds when it commits. This holds also if the lease ends before the transaction.
 *       A commit by a stale holder is impossible, whatever its clock says and however long it was paused.
 * </ul>
 *
 * <h2>Not guaranteed</h2>
 *
 * <ul>
 *   <li>Between a lost lock and the first {@code advance} of the next holder, {@code advance} admits the old one:
 *       the new token is not in the table before that. The two are still in order. {@code requireLive} has no such
 *       gap.
 *   <li>What a transaction read before the lock was granted. Acquire first, then begin: at REPEATABLE READ and above the
 *       first statement fixes what is seen.
 *   <li>That a guarded transaction is renewed. While it is open, no client can write its lock's row: assert at the
 *       end, just before the commit, and commit well within the lease. A holder that is frozen between the two keeps others
 *       out until the database ends its connection ({@code idle_in_transaction_session_timeout} and the like).
 *   <li>SQLite: {@code requireLive} takes the right to write to the file, so that until the transaction ends no lock in that
 *       file can be acquired, renewed or released.
 * </ul>
 *
 * <p>The connection is the caller's, and so is its transaction: this neither begins nor ends it, nor changes its
 * settings. A failure of the database is thrown unchanged, as {@link SQLException}; in PostgreSQL it ends the
 * transaction. Identifiers are checked before anything is sent. Immutable and thread-safe.
 */
public final class JdbcFence {

    /** How long {@link #requireLive} waits for other transactions by default. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** The least age of a row that {@link #removeOlderThan} removes: no lease is longer. */
    private static final Duration LEAST_AGE = Claim.MAX_LEASE;

    /** How many rows {@link #removeOlderThan} removes at most with each call. */
    public static final int MOST_REMOVED = 1_000;

    /** A token has this many bits for hand-overs inside a JVM, below the number that the store gave. */
    private static final int LOCAL_BITS = 10;

    /** Numbers below this are no times since 1970: it is in the year 2000. ZooKeeper's and etcd's are far below. */
    private static final long FIRST_TIME_MICROS = 946_684_800_000_000L;

    private static final JdbcFence STANDARD =
            new JdbcFence("", null, PATIENCE, false, null, null, MonotonicClock.SYSTEM);

    private final String schema;
    private final @Nullable SqlName table;
    private final Duration patience;
    private final boolean parallel;
    private final @Nullable String boot;
    private final @Nullable String expression;
    private final MonotonicClock clock;

    private JdbcFence(
            String schema,
            @Nullable SqlName table,
            Duration patience,
            boolean parallel,
            @Nullable String boot,
            @Nullable String expression,
            MonotonicClock clock) {
        this.schema = schema;
        this.table = table;
        this.patience = patience;
        this.parallel = parallel;
        this.boot = boot;
        this.expression = expression;
        this.clock = clock;
    }

    /**
     * Tables of Holdfast in the connection's default schema; waits up to 5 s for a row that another transaction has
     * locked.
     */
    public static JdbcFence standard() {
        return STANDARD;
    }

    /**
     * The same with the tables of Holdfast in another schema.
     *
     * @throws IllegalArgumentException if it is not the name of a schema
     */
    public JdbcFence schema(String name) {
        return new JdbcFence(SqlName.table(name) + ".", table, patience, parallel, boot, expression, clock);
    }

    /**
     * The same for a store that was opened with the option {@code holdfast.table}.
     *
     * @param name the value of that option, with its schema if it has one
     * @throws IllegalArgumentException if it is not the name of a table
     */
    public JdbcFence table(String name) {
        return new JdbcFence(schema, SqlName.table(name), patience, parallel, boot, expression, clock);
    }

    /**
     * The same with another limit for the time that {@link #requireLive} waits for other transactions which assert the same
     * lock. The waits of {@link #advance} are the database's, with its own limit ({@code lock_timeout} and the like).
     *
     * @throws IllegalArgumentException if it is negative
     */
    public JdbcFence patience(Duration most) {
        if (most.isNegative()) {
            throw new IllegalArgumentException("The patience must not be negative, but was " + most);
        }
        return new JdbcFence(schema, table, most, parallel, boot, expression, clock);
    }

    /**
     * The same for a holder who works in several transactions at once under one exclusive lock. {@link #requireLive} then
     * does not make them wait for each other. In return, the lock must not be released before the last of them has ended:
     * else it may be passed on to another thread of this JVM while they are open.
     */
    public JdbcFence parallel() {
        return new JdbcFence(schema, table, patience, true, boot, expression, clock);
    }

    /** The same with the {@code boot} option of the {@code sqlite:} URL, if it has one. */
    public JdbcFence boot(String id) {
        return new JdbcFence(schema, table, patience, parallel, id, expression, clock);
    }

    /**
     * The same for a store that was opened with the option {@code holdfast.clock}, in a database that has no dialect of its
     * own.
     *
     * @param sql the value of that option: the time in microseconds since 1970, read again by each statement. It is
     *     SQL, and becomes part of a statement unchanged
     */
    public JdbcFence clock(String sql) {
        if (sql.isBlank()) {
            throw new IllegalArgumentException("The clock must be a SQL expression");
        }
        return new JdbcFence(schema, table, patience, parallel, boot, sql, clock);
    }

    /**
     * Creates the table {@code holdfast_fence} that {@link #advance} needs, unless it exists. Call it once, by a
     * migration of the program's or when it starts, and not in a transaction, which some databases would commit.
     *
     * @throws IllegalStateException if the connection is in a transaction
     */
    public void createTable(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            throw new IllegalStateException(
                    "Make the table on a connection in autocommit mode: some databases commit a transaction in which a"
                            + " table is made");
        }
        rows(connection).create(connection);
    }

    /**
     * Advances a resource to a token within the caller's transaction, or throws if a later holder has advanced it
     * further. Until the transaction ends, the row is locked, and other transactions that advance the resource wait.
     * If it is rolled back, the resource is not advanced. The same token may be used again and again.
     *
     * @param resource what is protected, 1 to 255 bytes of UTF-8; mostly the name of the lock
     * @param token the fencing token of an exclusive grant, of a lock in any store. Tokens of shared grants have no order
     *     among each other: the smaller of two live ones would be refused
     * @throws LockLostException if the token is stale; roll back
     * @throws IllegalStateException if the connection is in autocommit mode: the row would not stay locked
     * @throws IllegalArgumentException if the name is not one, or the token is not positive
     * @throws SQLException the failure of the database; for example that there is no {@code holdfast_fence}
     */
    public void advance(Connection connection, String resource, long token) throws SQLException {
        LockName name = new LockName(resource);
        checkToken(token);
        requireTransaction(connection);
        long last;
        try {
            last = rows(connection).advance(connection, name.value(), token);
        } catch (SQLException failure) {
            if (SqlProduct.of(connection).isMissingTable(failure)) {
                throw new SQLException(
                        failure.getMessage() + ". To make table " + schema
                                + "holdfast_fence, call JdbcFence.createTable once",
                        failure.getSQLState(),
                        failure.getErrorCode(),
                        failure);
            }
            throw failure;
        }
        if (last > token) {
            throw FencedTable.stale("\"" + name + "\"", token, last);
        }
    }

    /** {@link #advance(Connection, String, long)} for each name of the lease, in their order. */
    public void advance(Connection connection, Lease lease) throws SQLException {
        requireHeld(lease);
        for (String name : lease.names()) {
            advance(connection, name, lease.token(name));
        }
    }

    /**
     * Removes resources from the table {@code holdfast_fence} that were last advanced with a token older than this: {@value
     * #MOST_REMOVED} at most, so call it again as long as it returns so many. For programs that use a new name each time.
     *
     * <p>From then on {@link #advance} admits every token for such a resource, also one that is older than the row was. So a holder
     * that was frozen is still refused if it was for less than this age, and may be admitted after that.
     *
     * <p>The age of a token is that of its grant, by this host's wall clock. Only tokens that are times are removed: those of Redis,
     * Memcached and databases. Those of ZooKeeper and etcd are numbers without a date, and stay, as long as they are below
     * those of the year 2000.
     *
     * <p>Works in autocommit and in a transaction of yours.
     *
     * @param age 24 hours at least; more than any pause that a holder may survive, and than any hold
     * @return how many were removed
     * @throws IllegalArgumentException if the age is shorter
     * @throws SQLException the failure of the database
     */
    public int removeOlderThan(Connection connection, Duration age) throws SQLException {
        if (age.compareTo(LEAST_AGE) < 0) {
            throw new IllegalArgumentException(
                    "Tokens must be " + LEAST_AGE + " old at least before their row is removed,"
                            + " so that a holder that was frozen is refused; but was " + age);
        }
        // An age of centuries, as of one who wants to remove nothing, must not overflow in the shift.
        long before = Math.max(FIRST_TIME_MICROS, clock.epochMicros() - TimeUnit.SECONDS.toMicros(age.toSeconds()));
        return rows(connection).remove(connection, FIRST_TIME_MICROS << LOCAL_BITS, before << LOCAL_BITS, MOST_REMOVED);
    }

    /**
     * Asserts within the caller's transaction that a lease is live by the database's clock, and keeps all others out until
     * the transaction ends. For locks that are kept in the same database; of every kind.
     *
     * <p>It runs two statements for each name, on a row that is found by its key: one reads the row, one locks it.
     *
     * @throws LockLostException if it is not live, or was lost by this client's clock; roll back
     * @throws IllegalStateException if it was released, or the connection is in autocommit mode, so that the row would not
     *     stay locked
     * @throws UnsupportedOperationException if the database's expression for the time is not known; see {@link
     *     #clock(String)}
     * @throws java.sql.SQLTransientException if other transactions asserted the same lock for too long
     * @throws SQLException the failure of the database
     */
    public void requireLive(Connection connection, Lease lease) throws SQLException {
        requireHeld(lease);
        for (String name : lease.names()) {
            requireLive(connection, name, lease.token(name));
        }
        // While the rows are locked, no other holder can assert the same claim: no other client, because the store
        // cannot grant the name, and no other thread of this JVM, if the lease was not released before.
        requireHeld(lease);
    }

    /**
     * The same for a lock that the calling thread holds through {@link DistributedLock#lock()}.
     *
     * @throws IllegalMonitorStateException if the thread does not hold it
     * @throws IllegalStateException if it is a multi-lock, each of whose names has a token of its own: use {@link
     *     DistributedLock#acquire()} and its lease
     */
    public void requireLive(Connection connection, DistributedLock lock) throws SQLException {
        long token = lock.token();
        requireLive(connection, lock.name(), token);
        if (!lock.isHeldByCurrentThread()) {
            throw lost("Lock \"" + lock.name() + "\" with token " + token);
        }
    }

    /**
     * The same for a claim that is known by its name and token only, perhaps in another process than the one that
     * holds it. It cannot distinguish a holder from the next one to whom the same grant was passed inside the
     * holder's JVM: pass the token on only while the lease is held.
     *
     * @throws IllegalArgumentException if the name is not one, or the token is not positive
     */
    public void requireLive(Connection connection, String name, long token) throws SQLException {
        LockName checked = new LockName(name);
        checkToken(token);
        requireTransaction(connection);
        SqlProduct product = SqlProduct.of(connection);
        if (product == SqlProduct.OTHER && expression == null) {
            throw new UnsupportedOperationException(
                    "How " + connection.getMetaData().getDatabaseProductName()
                            + " reports the time is not known. If locks are kept there with the option holdfast.clock, call"
                            + " JdbcFence.clock with the same; to compare tokens, use JdbcFence.advance or FencedTable");
        }
        LockTables tables = LockTables.of(table == null ? SqlName.table(schema + "holdfast_lock") : table);
        LiveRow.Reader reader = new LiveRow.Reader(product, tables, new HostClock(clock, boot), expression);
        new LiveClaim(reader, parallel, patience, clock).require(connection, checked, token);
    }

    private FenceRows rows(Connection connection) throws SQLException {
        return new FenceRows(SqlProduct.of(connection), schema + "holdfast_fence");
    }

    static void requireTransaction(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new IllegalStateException(
                    "The connection is in autocommit mode, so a guard would end with its own statement and guard nothing."
                            + " Call setAutoCommit(false), use the guard in the transaction that it is to guard, and commit");
        }
    }

    static void checkToken(long token) {
        if (token <= 0) {
            throw new IllegalArgumentException("A fencing token is positive, but this one is " + token);
        }
    }

    private static void requireHeld(Lease lease) {
        if (lease.state() == LeaseState.RELEASED) {
            throw new IllegalStateException(
                    lease + " was released before the transaction was committed. Release it afterwards");
        }
        if (!lease.isValid()) {
            throw lost(lease.toString());
        }
    }

    private static LockLostException lost(String what) {
        return new LockLostException(
                what + " was lost by this client's clock. Roll the transaction back; nothing of it may be committed",
                LossReason.EXPIRED);
    }
}
