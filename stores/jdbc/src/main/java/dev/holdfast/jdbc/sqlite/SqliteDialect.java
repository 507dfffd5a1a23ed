package dev.holdfast.jdbc.sqlite;

import dev.holdfast.jdbc.row.ColumnType;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.HandedOver;
import dev.holdfast.jdbc.row.Joined;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.NameEncoding;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ResourceRecord.Place;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.sqlite.BusyHandler;
import org.sqlite.Function;
import org.sqlite.SQLiteConnection;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * SQLite. The time is the host's monotonic clock, so that a step of the wall clock ends no lease. The id of the boot
 * belongs to it, because that clock starts again with each boot. Statements read the clocks through functions that
 * are called when the statement runs, after it has the right to write, and not when its parameters are set. Where a row is read and
 * then written, the time is that of the read, and nothing is written if the row has changed since.
 */
public final class SqliteDialect extends Dialect {

    // Names are compared by SQLite's default, BINARY. The table has a rowid, and so a separate index of the names:
    // in a table WITHOUT ROWID a row of more than 1,000 bytes, which is a queue of ten, spills into an overflow
    // page. With a rowid the limit is four times as high, and a change of the row does not change the index.
    private static final String CREATE_LOCK = """
            CREATE TABLE IF NOT EXISTS holdfast_lock (
              name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, counter INTEGER NOT NULL, clock TEXT NOT NULL,
              holder TEXT NOT NULL, held INTEGER NOT NULL, permits INTEGER NOT NULL, capacity INTEGER NOT NULL,
              since INTEGER NOT NULL, expires INTEGER NOT NULL, owner TEXT NOT NULL, more INTEGER NOT NULL,
              others TEXT NOT NULL
            )
            """;

    // The table has the id of the present boot, and the origin of the times of the rows on its clock.
    private static final String CREATE_SCHEMA = """
            CREATE TABLE IF NOT EXISTS holdfast_schema (
              version INTEGER NOT NULL PRIMARY KEY, clock TEXT NOT NULL, origin INTEGER NOT NULL
            )
            """;

    // The time is read once, so that both columns of it are equal in the entry. $thisBoot is put in after the start.
    private static final String JOIN = """
            WITH c (now) AS MATERIALIZED (SELECT $now)
            UPDATE holdfast_lock AS l SET version = l.version + 1, more = l.more + 1,
              others = CASE l.more WHEN 0 THEN '' ELSE l.others END || 'wait\t' || ?3 || '\t' || c.now || '\t' || (c.now + ?6)
                || '\t' || ?4 || '\t' || ?5 || '\t' || ?7 || '\n'
            FROM c
            WHERE l.name = ?1 AND l.clock = ?2 AND l.expires > c.now AND l.permits = l.capacity AND l.capacity = ?5
              AND l.holder <> ?3 AND l.more < %d AND instr(l.others, '\t' || ?3 || '\t') = 0 AND $thisBoot
            RETURNING expires, more, others
            """.formatted(LockStore.MAX_QUEUE);

    private static final String IS_HELD = """
            SELECT 1 FROM holdfast_lock WHERE name = ? AND clock = ? AND expires > $now AND permits = capacity AND capacity = ?
            """;

    private static final String HEAD_OF_QUEUE = """
            SELECT $now, $epoch, version, counter, permits, more, substr(others, 1, instr(others, '\n')) FROM holdfast_lock
            WHERE name = ? AND holder = ? AND clock = ? AND more > 0 AND permits = capacity AND expires > $now AND $thisBoot
            """;

    private static final String HAND_OVER = """
            UPDATE holdfast_lock SET version = version + 1, counter = ?1, holder = ?2, held = ?1, since = ?3, expires = ?4,
              owner = ?5, more = more - 1, others = CASE more WHEN 1 THEN '-' ELSE substr(others, instr(others, '\n') + 1) END
            WHERE name = ?6 AND version = ?7 AND $thisBoot
            """;

    private static final String CHECK_FILE =
            "check that the path names a database of SQLite 3 on a local disk, and that this user may write to the file, to"
                    + " its -wal and -shm files and to its folder";

    private static final long NO_ORIGIN = Long.MIN_VALUE;

    private final MonotonicClock clock;
    private final String boot;
    private final String file;

    /** What the times of the rows count from; {@link #NO_ORIGIN} before the start. */
    private volatile long origin = NO_ORIGIN;

    /**
     * @param clock the host's time; the same clock in every process that uses the file
     * @param boot the id of the host's boot
     * @param file the database, for messages
     */
    public SqliteDialect(MonotonicClock clock, String boot, String file) {
        this.clock = clock;
        this.boot = boot;
        this.file = file;
    }

    // Whether the file still has the boot and the origin with which this dialect was started, in SQL. Where another
    // boot id came and this one came back, it counts from another origin, and by the old one all that is granted now
    // would be over. The statements that contain this are built after the start.
    private String isThisBoot() {
        return "EXISTS (SELECT 1 FROM holdfast_schema WHERE clock = '" + boot.replace("'", "''") + "' AND origin = "
                + origin + ")";
    }

    @Override
    public String product() {
        return "sqlite";
    }

    @Override
    public String clock() {
        return boot;
    }

    @Override
    public String now() {
        return "holdfast_now()";
    }

    @Override
    public String epoch() {
        return "holdfast_epoch()";
    }

    private long nowMicros() {
        return (clock.nanoTime() - origin) / 1_000;
    }

    @Override
    public List<String> createTables() {
        return List.of(CREATE_LOCK, CREATE_SCHEMA, TableSchema.INSERT_VERSION);
    }

    // The first process that opens the file after a boot writes the time of that as the origin, and all processes
    // count from it: the values of the monotonic clock are arbitrary and may wrap around, but their differences are
    // meaningful.
    @Override
    public void start(LockStatements statements) throws SQLException {
        long found = origin(statements);
        if (origin != NO_ORIGIN) { // it was started before, for another client
            if (found != origin) {
                throw noRow();
            }
            return;
        }
        if (found == NO_ORIGIN) {
            try {
                statements.begin(1);
                found = origin(statements);
                if (found == NO_ORIGIN) {
                    found = clock.nanoTime();
                    writeOrigin(statements, found);
                }
                statements.commit();
            } catch (SQLException failure) {
                statements.rollBack();
                throw failure;
            }
        }
        if (clock.nanoTime() - found < 0) {
            throw StoreException.refused(
                    file
                            + " was used in this boot by a process whose monotonic clock is ahead of this process's: processes"
                            + " that share the file must be on one host and in one time namespace",
                    null);
        }
        origin = found;
    }

    private long origin(LockStatements statements) throws SQLException {
        return statements.query(
                sql("SELECT origin FROM holdfast_schema WHERE clock = ?"),
                statement -> statement.setString(1, boot),
                rows -> rows.next() ? rows.getLong(1) : NO_ORIGIN);
    }

    private void writeOrigin(LockStatements statements, long first) throws SQLException {
        statements.update(sql("UPDATE holdfast_schema SET clock = ?, origin = ?"), statement -> {
            statement.setString(1, boot);
            statement.setLong(2, first);
        });
    }

    // A row is free if it has no holder, no waiters and no tombstones, or if it was written before the last boot.
    // The wall clock is a parameter and not a function, because SQLite would call a function once for each of the
    // three columns of a new row, and these must be equal. It is only a lower bound, so it may be a little old.
    @Override
    public String acquireFree() {
        return """
                INSERT INTO holdfast_lock AS l (name, version, counter, clock, holder, held, permits, capacity, since, expires,
                  owner, more, others)
                SELECT ?1, ?8, ?8, ?2, ?3, ?8, ?4, ?5, $now, $now + ?6, ?7, 0, '-' WHERE %s
                ON CONFLICT (name) DO UPDATE SET version = l.version + 1, counter = max(l.counter + 1, excluded.counter),
                  clock = excluded.clock, holder = excluded.holder, held = max(l.counter + 1, excluded.counter),
                  permits = excluded.permits, capacity = excluded.capacity, since = excluded.since,
                  expires = excluded.expires, owner = excluded.owner, more = 0, others = '-'
                WHERE (l.more = 0 AND l.expires <= excluded.since) OR l.clock <> excluded.clock
                RETURNING counter
                """.formatted(isThisBoot());
    }

    // What another boot has written is void, so of two hosts, or two ids of one host, each would take the other's
    // locks. The one that came later has written its id into the file, and the other one finds no row here any more.
    @Override
    public String oneRow() {
        return "(SELECT 1 AS one WHERE " + isThisBoot() + ") AS single";
    }

    @Override
    public StoreException noRow() {
        return StoreException.refused(
                file
                        + " is used under another boot id than this process's since it was opened: processes that share the file"
                        + " must be on one host, on a disk of that host, and with the same option boot=, if any. End all of them,"
                        + " and give each host a file of its own",
                null);
    }

    @Override
    public String update() {
        return super.update().stripTrailing() + " AND " + isThisBoot();
    }

    @Override
    public String renewSole(int claims) {
        return """
                UPDATE holdfast_lock AS l SET version = l.version + 1, expires = max(l.expires, $now + c.column3),
                  owner = c.column4
                FROM (VALUES %s) AS c
                WHERE l.name = c.column1 AND l.holder = c.column2 AND l.more = 0 AND l.expires > $now AND l.clock = ?
                  AND %s
                RETURNING name, holder, held, expires - $now
                """.formatted(String.join(", ", Collections.nCopies(claims, "(?, ?, ?, ?)")), isThisBoot());
    }

    @Override
    public boolean hasQueueStatements() {
        return true;
    }

    @Override
    public boolean transitionFollows() {
        return true;
    }

    @Override
    public boolean joinsShared() {
        return false;
    }

    @Override
    public String join() {
        return JOIN.replace("$thisBoot", isThisBoot());
    }

    // A write keeps all other writers out, also one that changes nothing. A read does not.
    @Override
    public Optional<Joined> join(LockStatements statements, Claim claim, Duration ticketTtl) throws SQLException {
        boolean isHeld = statements.query(
                sql(IS_HELD),
                statement -> {
                    bindName(statement, 1, claim.name().value());
                    statement.setString(2, clock());
                    statement.setInt(3, claim.limit());
                },
                ResultSet::next);
        return isHeld ? super.join(statements, claim, ticketTtl) : Optional.empty();
    }

    // In SQL it would take a page to take an entry apart; a read and a write cost no more here than one statement. The
    // queue stays in the database but for its first entry. The time is read with the row, so that no ticket in the row
    // is younger: a grant that is older than the ticket would end before its owner thinks.
    @Override
    public Optional<HandedOver> handOver(LockStatements statements, Claim claim, Duration ticketTtl)
            throws SQLException {
        Optional<HeadOfQueue> head = headOfQueue(statements, claim);
        Optional<Claim> next = head.flatMap(read -> read.next(claim.name()));
        return head.isEmpty() || next.isEmpty()
                ? Optional.empty()
                : handOver(statements, head.get(), next.get(), ticketTtl);
    }

    private Optional<HandedOver> handOver(LockStatements statements, HeadOfQueue head, Claim next, Duration ticketTtl)
            throws SQLException {
        long lease = Math.min(RowCodec.micros(ticketTtl), RowCodec.micros(next.lease()));
        long counter = Math.max(head.counter() + 1, head.epoch());
        int written =
                statements.update(ready("hand over", () -> HAND_OVER.replace("$thisBoot", isThisBoot())), statement -> {
                    statement.setLong(1, counter);
                    statement.setString(2, next.id().toString());
                    statement.setLong(3, head.now());
                    statement.setLong(4, head.now() + lease);
                    statement.setString(5, RowCodec.owner(next));
                    bindName(statement, 6, next.name().value());
                    statement.setLong(7, head.version());
                });
        Handed handed = new Handed(next.id(), new Granted(counter, RowCodec.duration(lease)));
        return written == 0 ? Optional.empty() : Optional.of(new HandedOver(handed, head.more() > 1));
    }

    private Optional<HeadOfQueue> headOfQueue(LockStatements statements, Claim holder) throws SQLException {
        return statements.query(
                ready("head of queue", () -> HEAD_OF_QUEUE.replace("$thisBoot", isThisBoot())),
                statement -> {
                    bindName(statement, 1, holder.name().value());
                    statement.setString(2, holder.id().toString());
                    statement.setString(3, clock());
                },
                rows -> rows.next()
                        ? Optional.of(new HeadOfQueue(
                                rows.getLong(1),
                                rows.getLong(2),
                                rows.getLong(3),
                                rows.getLong(4),
                                rows.getInt(5),
                                rows.getInt(6),
                                rows.getString(7)))
                        : Optional.empty());
    }

    /** A row with a queue behind an exclusive holder, when it was read, and the first entry of the queue. */
    private record HeadOfQueue(long now, long epoch, long version, long counter, int permits, int more, String entry) {

        /** Who is the next exclusive holder. Empty if that is not the first in the queue, or what is there cannot be read. */
        Optional<Claim> next(LockName name) {
            try {
                return RowCodec.parse(name, entry).waiters().stream()
                        .filter(first -> first.expires() > now)
                        .map(Place::claim)
                        .filter(first -> first.isExclusive() && first.permits() == permits)
                        .findFirst();
            } catch (IllegalArgumentException | ArithmeticException unreadable) {
                return Optional.empty(); // a transition reports it
            }
        }
    }

    // To look for a text in a queue of 64 takes a few microseconds here; to fetch the queue allocates 16 kB and more.
    // The driver fetches the names of the columns with each result, so they are short.
    @Override
    public String changedHeads(int names) {
        return """
                SELECT c.column1 AS a, coalesce(l.version, 0) AS b, coalesce(l.holder, '-') AS c, l.held AS d, l.since AS e,
                  l.expires AS f, l.holder <> '-' AND l.permits = l.capacity AND l.clock = ? AS g,
                  instr(l.others, c.column3) AS h
                FROM (VALUES %s) AS c LEFT JOIN holdfast_lock AS l ON l.name = c.column1
                WHERE coalesce(l.version, 0) <> c.column2
                """.formatted(String.join(", ", Collections.nCopies(names, "(?, ?, ?)")));
    }

    @Override
    public void bindEpoch(PreparedStatement statement, int index) throws SQLException {
        statement.setLong(index, clock.epochMicros());
    }

    @Override
    public NameEncoding names() {
        return NameEncoding.TEXT;
    }

    @Override
    public ColumnType type(ResultSet columns) throws SQLException {
        return ColumnType.ofSqlite(columns);
    }

    @Override
    public void prepare(Connection connection) throws SQLException {
        // For SQLite "deterministic" means: the same during one statement, so that it is not called for each row.
        Function.create(
                connection,
                "holdfast_now",
                new Function() {
                    @Override
                    protected void xFunc() throws SQLException {
                        result(nowMicros());
                    }
                },
                0,
                Function.FLAG_DETERMINISTIC);
        Function.create(
                connection,
                "holdfast_epoch",
                new Function() {
                    @Override
                    protected void xFunc() throws SQLException {
                        result(clock.epochMicros());
                    }
                },
                0,
                Function.FLAG_DETERMINISTIC);
    }

    // IMMEDIATE, because a transaction that begins with a read and then writes fails without waiting if another one
    // has written meanwhile.
    @Override
    public void begin(LockStatements statements, int rows) throws SQLException {
        statements.execute("BEGIN IMMEDIATE");
    }

    @Override
    public boolean beginExcludesWriters() {
        return true;
    }

    @Override
    public void commit(LockStatements statements) throws SQLException {
        statements.execute("COMMIT");
    }

    @Override
    public void rollBack(LockStatements statements) throws SQLException {
        try {
            statements.execute("ROLLBACK");
        } catch (SQLException failure) {
            // Some failures, such as a full disk, have ended the transaction already.
            if (code(failure) != SQLiteErrorCode.SQLITE_ERROR.code) {
                throw failure;
            }
        }
    }

    @Override
    public void limitWait(Connection connection, Duration most) throws SQLException {
        BusyHandler.setHandler(connection.unwrap(SQLiteConnection.class), new SqliteBusyHandler(most));
    }

    // A statement waits for other writers inside SQLite, and then sees their changes. So the only race is the one of
    // two clients that both read that a name has no row.
    @Override
    public boolean isRace(SQLException failure) {
        return primary(failure) == SQLiteErrorCode.SQLITE_CONSTRAINT;
    }

    @Override
    public boolean isMissing(SQLException failure) {
        return code(failure) == SQLiteErrorCode.SQLITE_ERROR.code
                && String.valueOf(failure.getMessage()).matches("(?s).*(no such table|no such column|has no column).*");
    }

    @Override
    public boolean breaksConnection(SQLException failure) {
        return !isBusy(failure);
    }

    @Override
    public StoreException failure(SQLException failure) {
        String what = file + ": " + failure.getMessage();
        if (isBusy(failure)) {
            return StoreException.unavailable(
                    Effect.NONE,
                    what + " Another process writes to the file; if it is stopped in the middle of that, end it",
                    failure);
        }
        if (isMissing(failure)) {
            return TableSchema.wrong(tables(), file, String.valueOf(failure.getMessage()), failure);
        }
        return switch (primary(failure)) {
            case SQLITE_FULL -> StoreException.unavailable(Effect.NONE, what + " Make room on the disk", failure);
            case SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_NOTADB, SQLITE_AUTH, SQLITE_CORRUPT ->
                StoreException.refused(what + " To put it right, " + CHECK_FILE, failure);
            default -> StoreException.unavailable(Effect.UNKNOWN, what, failure);
        };
    }

    private static boolean isBusy(SQLException failure) {
        SQLiteErrorCode primary = primary(failure);
        return primary == SQLiteErrorCode.SQLITE_BUSY || primary == SQLiteErrorCode.SQLITE_LOCKED;
    }

    // The low byte is the primary result code; the rest is the extended code.
    private static SQLiteErrorCode primary(SQLException failure) {
        return SQLiteErrorCode.getErrorCode(code(failure));
    }

    private static int code(SQLException failure) {
        int code = failure instanceof SQLiteException ours ? ours.getResultCode().code : failure.getErrorCode();
        return code < 0 ? code : code & 0xff;
    }
}
