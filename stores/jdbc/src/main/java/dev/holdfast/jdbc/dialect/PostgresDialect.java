package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.jdbc.row.NameEncoding;
import dev.holdfast.jdbc.row.RememberedNames;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.row.TablePlace;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLWarning;

/**
 * PostgreSQL. No statement relies on the state of a session, so that a pooler may give each transaction another
 * session: a statement makes the settings that it needs for its own transaction. No statement waits for long for a row that a
 * user's transaction has locked: it skips the row, or, where it may have to insert one or many clients queue for it, waits for
 * 100 ms at most.
 *
 * <p>A grant is on the disk before it is reported. A place in the queue does not wait for the disk, and neither does a release
 * without a hand-over: if a crash loses that, the lock is held until its lease is over, and nothing worse follows. The next commit that waits
 * for the disk makes the release durable, too.
 */
public class PostgresDialect extends ServerDialect {

    // Names are compared as bytes. Free space in each page, and no index except that of the names, let an update
    // write the new version of a row into the same page.
    private static final String CREATE_LOCK = """
            CREATE TABLE IF NOT EXISTS holdfast_lock (
              name text COLLATE "C" NOT NULL PRIMARY KEY, version bigint NOT NULL, counter bigint NOT NULL,
              clock text NOT NULL, holder text NOT NULL, held bigint NOT NULL, permits integer NOT NULL,
              capacity integer NOT NULL, since bigint NOT NULL, expires bigint NOT NULL, owner text NOT NULL,
              more integer NOT NULL, others text NOT NULL
            ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)
            """;

    static final String CREATE_SCHEMA = """
            CREATE TABLE IF NOT EXISTS holdfast_schema (
              version integer NOT NULL PRIMARY KEY, clock text NOT NULL, origin bigint NOT NULL
            )
            """;

    // A crash empties this table, whether the server is started again or goes on with new processes, and so do
    // the promotion of a replica and a start from a base backup.
    private static final String CREATE_NODE = """
            CREATE UNLOGGED TABLE IF NOT EXISTS holdfast_node (
              one integer NOT NULL PRIMARY KEY, server text NOT NULL, since bigint NOT NULL
            )
            """;

    private static final String STARTED = "CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS bigint)";

    // No two servers start in the same microsecond and listen at the same port. The identifier of the
    // database system does not tell them apart: it is the same in copies.
    private static final String SERVER = "concat_ws(' ', " + STARTED + ", current_setting('port'))";

    // What else changes when data may be lost. The start of the server: a copy of the data folder of a server
    // that was stopped. The database: a copy of it in the same server. The tables and the file of the locks:
    // rows that were dropped or truncated, and perhaps restored. The file of the mark: it was one that survives
    // a crash for a while.
    private static final String INCARNATION = """
            concat_ws(' ', %s,
              (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()),
              CAST(to_regclass('holdfast_lock') AS oid), pg_relation_filenode(to_regclass('holdfast_lock')),
              CAST(to_regclass('holdfast_node') AS oid), pg_relation_filenode(to_regclass('holdfast_node')))
            """.formatted(STARTED);

    // The limits of a statement's own transaction. A client that vanishes in the midst of one, without a word from its
    // network, keeps its rows for this long.
    private static final String NO_LONG_WAIT = "set_config('lock_timeout', '100ms', true)";
    private static final String NO_LONG_IDLE =
            "set_config('idle_in_transaction_session_timeout', '" + MOST_IDLE.toMillis() + "', true)";

    private static final String NOT_ON_DISK = "set_config('synchronous_commit', 'off', true)";

    /**
     * The claim that joins a queue or has its ticket refreshed, and the row of its name if the holder leaves no room for any
     * other. The settings are made before the row is locked.
     */
    private static final String BEHIND_A_HOLDER =
            """
            FROM (
              SELECT CAST(? AS text) AS name, CAST(? AS text) AS clock, CAST(? AS text) AS id, CAST(? AS integer) AS permits,
                CAST(? AS integer) AS capacity, CAST(? AS bigint) AS ticket, CAST(? AS text) AS owner, %s AS waits,
                %s AS durable
            ) AS c
            WHERE c.waits IS NOT NULL AND c.durable IS NOT NULL AND l.name = c.name AND l.clock = c.clock
              AND l.expires > $now AND l.permits = l.capacity AND l.capacity = c.capacity
            """.formatted(NO_LONG_WAIT, NOT_ON_DISK).strip();

    // The server sends no warning in a session in which this is error, and so none of a wait that was cancelled.
    private static final String WARN = "set_config('client_min_messages', 'warning', true)";

    // A message that nobody reads, written to the log: its commit waits for the standby, and so for all that was
    // committed before.
    private static final String COMMIT_WITH_A_STANDBY = "pg_logical_emit_message(true, 'holdfast', " + WARN + ")";

    private static final String HAS_A_STANDBY = "current_setting('synchronous_standby_names') <> ''";

    /** Where the server waits for a standby, as it reports it itself in whatever language. */
    private static final String WAIT_FOR_A_STANDBY = "SyncRepWaitForLSN";

    /** The class of what says that nothing is wrong. A wait that was cancelled is 01000, as many other warnings. */
    private static final String NOTICE = "00";

    // As in a renewal, the update compares the name only: it may see an older version than the select has locked.
    private static final String TAKE = """
            UPDATE holdfast_lock AS l SET version = l.version + 1, counter = GREATEST(l.counter + 1, c.now), clock = ?, holder = ?,
              held = GREATEST(l.counter + 1, c.now), permits = ?, capacity = ?, since = c.now, expires = c.now + ?, owner = ?,
              more = 0, others = '-'
            FROM (
              SELECT k.name, $now AS now FROM holdfast_lock AS k
              WHERE k.name = ? AND ((k.more = 0 AND k.expires <= $now) OR k.clock <> ?)
              FOR NO KEY UPDATE SKIP LOCKED
            ) AS c
            WHERE l.name = c.name
            RETURNING l.counter, %s
            """;

    private static final List<String> RACES = List.of("40001", "40P01", "23505");
    private static final String LOCK_NOT_AVAILABLE = "55P03";
    private static final List<String> MISSING = List.of("42P01", "42703", "3F000");
    private static final List<String> REFUSED = List.of("28", "42501", "3D000", "42", "22", "26");
    // The server reported that the statement had no effect. Among these is a transaction that it has ended
    // because we did nothing for too long. A broken connection and a server that shuts down are not.
    private static final List<String> UNDONE = List.of(
            "25006", "25P03", "40001", "40002", "40P01", "53", "54", "55", "57014", "57P03", "0A", "22", "23", "26",
            "42");
    private static final String READ_ONLY = "25006";
    // The statement was prepared in another session, or another client has prepared one of that name in this
    // session.
    private static final List<String> NOT_PREPARED_HERE = List.of("26000", "42P05");
    // The same, if the other statement has another number of parameters. The driver also uses this state for its own
    // protocol errors.
    private static final String PROTOCOL_VIOLATION = "08P01";
    private static final String ABOUT_PREPARED = "prepared statement";

    // What is told apart: a table that survives a crash; one without a file of its own, whose rows are elsewhere; one
    // that clients with other tables of locks use, too, so that each of them would rewrite the other's mark.
    private static final String DISTRUST = """
            CASE WHEN c.relpersistence <> 'u' THEN
              'Table holdfast_node must be one that a crash empties (UNLOGGED), or a crash that loses grants would not be noticed. '
              || 'Drop holdfast_node only, and make it as "holdfast schema --store URL" prints it'
            WHEN pg_relation_filenode(l.oid) IS NULL THEN
              'Table holdfast_lock is partitioned or foreign, so that nobody sees whether its rows were lost: '
              || 'a node of a quorum needs a plain table'
            WHEN c.relnamespace <> l.relnamespace THEN
              'Table holdfast_node must be in the same schema as holdfast_lock: the search path leads to another one. '
              || 'Make it there as "holdfast schema --store URL" prints it'
            END
            """;

    private final boolean relaxed;
    private final boolean severalServers;
    private final String take;
    /**
     * The names whose row exists, most likely. Others are taken by the statement that can insert a row. If the row was removed
     * because it was idle, the transition that follows makes it anew.
     */
    private final RememberedNames known = new RememberedNames();

    /**
     * @param relaxed whether no commit waits for the disk
     * @param severalServers whether the URL names several servers, so that nobody knows which of them answers
     */
    public PostgresDialect(String url, boolean relaxed, boolean severalServers) {
        super(url);
        this.relaxed = relaxed;
        this.severalServers = severalServers;
        this.take = TAKE.formatted(durability());
    }

    @Override
    public String product() {
        return "postgresql";
    }

    // This is the time of the statement, not that of its transaction.
    @Override
    public String now() {
        return "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";
    }

    @Override
    public List<String> createTables() {
        return List.of(CREATE_LOCK, CREATE_SCHEMA, TableSchema.INSERT_VERSION);
    }

    @Override
    public @Nullable String createNodeTable() {
        return CREATE_NODE;
    }

    @Override
    public String hasNodeTable() {
        return """
                SELECT to_regclass('holdfast_node') IS NOT NULL
                """;
    }

    // A new counter is at least the time of the server. As a node of a quorum it must promise what the others do.
    @Override
    public TokenSurvival tokens() {
        return TokenSurvival.DATA_LOSS;
    }

    @Override
    public boolean canBeNode() {
        return !severalServers;
    }

    @Override
    public boolean canNotify() {
        return true;
    }

    @Override
    public String readNodeMark() {
        return """
                SELECT n.since, $now, %s, %s
                FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_class AS l ON l.oid = to_regclass('holdfast_lock')
                  LEFT JOIN holdfast_node AS n ON n.server = %s
                WHERE c.oid = to_regclass('holdfast_node')
                """.formatted(DISTRUST.strip(), SERVER, INCARNATION.strip());
    }

    @Override
    public String writeNodeMark() {
        return """
                INSERT INTO holdfast_node AS n (one, server, since)
                SELECT 1, %s, $now FROM (SELECT %s AS waits) AS c WHERE c.waits IS NOT NULL
                ON CONFLICT (one) DO UPDATE SET server = excluded.server, since = excluded.since
                WHERE n.server <> excluded.server
                """.formatted(INCARNATION.strip(), NO_LONG_WAIT);
    }

    // The settings are made while the row to insert is computed, before an existing row is locked. The time is
    // read once, so that all columns get the same value. A row that is in use is refused by a read: ON CONFLICT
    // alone would lock it, also when its WHERE is false, and write the lock to the log; meanwhile the holder's
    // renewals and release skip it.
    @Override
    public String acquireFree() {
        return """
                INSERT INTO holdfast_lock AS l (name, version, counter, clock, holder, held, permits, capacity, since, expires,
                  owner, more, others)
                SELECT c.name, c.now, c.now, c.clock, c.holder, c.now, c.permits, c.capacity, c.now, c.now + c.lease, c.owner,
                  0, '-'
                FROM (
                  SELECT CAST(? AS text) AS name, CAST(? AS text) AS clock, CAST(? AS text) AS holder,
                    CAST(? AS integer) AS permits, CAST(? AS integer) AS capacity, CAST(? AS bigint) AS lease,
                    CAST(? AS text) AS owner, $now AS now, %s AS waits, %s AS durable
                ) AS c
                WHERE c.waits IS NOT NULL AND c.durable IS NOT NULL AND NOT EXISTS (
                  SELECT 1 FROM holdfast_lock AS k
                  WHERE k.name = c.name AND k.clock = c.clock AND (k.more <> 0 OR k.expires > c.now)
                )
                ON CONFLICT (name) DO UPDATE SET version = l.version + 1, counter = GREATEST(l.counter + 1, excluded.counter),
                  clock = excluded.clock, holder = excluded.holder, held = GREATEST(l.counter + 1, excluded.counter),
                  permits = excluded.permits, capacity = excluded.capacity, since = excluded.since,
                  expires = excluded.expires, owner = excluded.owner, more = 0, others = '-'
                WHERE (l.more = 0 AND l.expires <= excluded.since) OR l.clock <> excluded.clock
                RETURNING counter
                """.formatted(NO_LONG_WAIT, durability());
    }

    // The row of a name that was taken before exists, most likely. To update it is cheaper than to begin an
    // insert, and needs no limit of the wait, since it skips a row that is locked.
    @Override
    public long acquireFree(LockStatements statements, Claim claim) throws SQLException {
        LockName name = claim.name();
        if (!updatesKnownRows() || !known.contains(name)) {
            long counter = super.acquireFree(statements, claim);
            if (counter != 0) {
                known.saw(name, true);
            }
            return counter;
        }
        return take(statements, claim);
    }

    /** Whether a free lock whose row exists is taken by another statement than one that may have none. */
    boolean updatesKnownRows() {
        return true;
    }

    private long take(LockStatements statements, Claim claim) throws SQLException {
        return statements.query(
                sql(take), statement -> bindTake(statement, claim), rows -> rows.next() ? rows.getLong(1) : 0);
    }

    // The inner select locks the rows that it can lock at once, and reads their latest version. The update may see
    // an older version, so it compares the name only.
    @Override
    public String renewSole(int claims) {
        return """
                UPDATE holdfast_lock AS l SET version = l.version + 1, expires = GREATEST(l.expires, c.now + c.lease),
                  owner = c.owner
                FROM (
                  SELECT k.name, v.lease, v.owner, $now AS now
                  FROM unnest(CAST(? AS text[]), CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS text[]))
                    AS v(name, holder, lease, owner)
                  JOIN holdfast_lock AS k ON k.name = v.name
                  WHERE k.holder = v.holder AND k.more = 0 AND k.expires > $now AND k.clock = ?
                  ORDER BY k.name FOR NO KEY UPDATE OF k SKIP LOCKED
                ) AS c
                WHERE l.name = c.name
                RETURNING l.name, l.holder, l.held, l.expires - c.now, %s
                """.formatted(durability());
    }

    @Override
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        Connection connection = statements.connection();
        statements.query(
                sql(renewSole(claims.size())),
                statement -> {
                    statement.setArray(
                            1,
                            array(
                                    connection,
                                    "text",
                                    claims,
                                    claim -> claim.name().value()));
                    statement.setArray(
                            2,
                            array(
                                    connection,
                                    "text",
                                    claims,
                                    claim -> claim.id().toString()));
                    statement.setArray(3, array(connection, "bigint", claims, claim -> RowCodec.micros(claim.lease())));
                    statement.setArray(4, array(connection, "text", claims, RowCodec::owner));
                    statement.setString(5, clock());
                },
                rows -> LockStatements.renewed(rows, renewed));
    }

    private static java.sql.Array array(
            Connection connection, String type, List<Claim> claims, java.util.function.Function<Claim, Object> value)
            throws SQLException {
        return connection.createArrayOf(type, claims.stream().map(value).toArray());
    }

    // The setting is made in RETURNING, so only if a row was released, and before that commits.
    @Override
    public String releaseSole() {
        return """
                UPDATE holdfast_lock SET version = version + 1, holder = '-', expires = %d
                WHERE name = (
                  SELECT name FROM holdfast_lock
                  WHERE name = ? AND holder = ? AND more = 0 AND clock = ? AND expires > $now
                  FOR NO KEY UPDATE SKIP LOCKED
                )
                RETURNING %s
                """.formatted(LockRow.NEVER, NOT_ON_DISK);
    }

    @Override
    public boolean hasQueueStatements() {
        return true;
    }

    // A place in the queue need not be on the disk: if a crash loses it, its client takes another one. So the row is
    // locked for a moment only, however many join. The version is the time, since after a crash another change would
    // get the same one, and those who wait would take that for the one they have seen.
    @Override
    public String join() {
        return """
                UPDATE holdfast_lock AS l SET version = GREATEST(l.version + 1, $epoch), more = l.more + 1,
                  others = CASE l.more WHEN 0 THEN '' ELSE l.others END
                    || concat_ws('\t', 'wait', c.id, $now, $now + c.ticket, c.permits, c.capacity, c.owner) || '\n'
                %s AND l.holder <> c.id
                  AND l.more < %d AND strpos(l.others, '\t' || c.id || '\t') = 0
                RETURNING l.expires, l.more, l.others
                """.formatted(BEHIND_A_HOLDER, LockStore.MAX_QUEUE);
    }

    @Override
    public boolean hasRefresh() {
        return hasQueueStatements();
    }

    // As a place, a ticket need not be on the disk. An entry is found by the beginning of its line, which is nowhere
    // else. One that cannot be read is left to a transition, which reports it.
    @Override
    public String refresh() {
        return """
                UPDATE holdfast_lock AS l SET version = GREATEST(l.version + 1, $epoch),
                  others = overlay(l.others
                    PLACING concat_ws('\t', 'wait', c.id, split_part($entry, '\t', 3), $now + c.ticket, split_part($entry, '\t', 5),
                      split_part($entry, '\t', 6), c.owner)
                    FROM $at FOR length($entry))
                %s AND l.more > 0 AND $at > 0
                  AND CASE WHEN $entry ~ '^wait\t[^\t]+\t[0-9]{1,18}\t[0-9]{1,18}\t[0-9]{1,9}\t[0-9]{1,9}\t'
                    THEN CAST(split_part($entry, '\t', 4) AS bigint) ELSE 0 END > $now
                RETURNING l.expires, left(l.others, $at + length($entry))
                """.formatted(BEHIND_A_HOLDER)
                .replace("$entry", "split_part(substr(l.others, $at), '\n', 1)")
                .replace("$at", "strpos('\n' || l.others, '\nwait\t' || c.id || '\t')");
    }

    // The innermost select waits for the row, and reads its latest version. The update may see an older one, so it
    // compares the name only. An entry that cannot be read has no time, and so is left to a transition, which reports
    // it.
    @Override
    public String handOver() {
        return """
                UPDATE holdfast_lock AS l SET version = l.version + 1, counter = n.minted, holder = n.id, held = n.minted,
                  permits = n.whole, capacity = n.whole, since = n.now, expires = n.now + LEAST(n.ticket, n.lease),
                  owner = n.owner, more = n.more - 1, others = n.others
                FROM (
                  SELECT name, minted, now, ticket, more, split_part(head, '\t', 2) AS id,
                    CASE WHEN is_wait THEN CAST(split_part(head, '\t', 4) AS bigint) ELSE 0 END AS ends,
                    CASE WHEN is_wait THEN CAST(split_part(head, '\t', 5) AS integer) ELSE 0 END AS permits,
                    CASE WHEN is_wait THEN CAST(split_part(head, '\t', 6) AS integer) ELSE 1 END AS whole,
                    CASE WHEN is_wait THEN CAST(split_part(head, '\t', 7) AS bigint) ELSE 0 END AS lease,
                    substring(head FROM '^(?:[^\t]*\t){6}(.*)$') AS owner,
                    CASE more WHEN 1 THEN '-' ELSE substr(others, length(head) + 2) END AS others
                  FROM (
                    SELECT k.name, GREATEST(k.counter + 1, $epoch) AS minted, $now AS now, c.ticket, k.more, k.others,
                      split_part(k.others, '\n', 1) AS head,
                      k.others ~ '^wait\t[A-Za-z0-9_-]{1,64}[.][0-9a-z]{1,13}\t[0-9]{1,18}\t[0-9]{1,18}\t[0-9]{1,9}\t[0-9]{1,9}\t[0-9]{1,18}\t' AS is_wait
                    FROM (
                      SELECT CAST(? AS text) AS name, CAST(? AS text) AS clock, CAST(? AS text) AS holder,
                        CAST(? AS bigint) AS ticket, %s AS waits
                    ) AS c
                    JOIN holdfast_lock AS k ON k.name = c.name
                    WHERE c.waits IS NOT NULL AND k.holder = c.holder AND k.more > 0 AND k.clock = c.clock
                      AND k.expires > $now AND k.permits = k.capacity
                    FOR NO KEY UPDATE OF k
                  ) AS held
                ) AS n
                WHERE l.name = n.name AND n.ends > n.now AND n.permits = n.whole
                RETURNING n.id, n.minted, l.expires - n.now, l.more, %s
                """.formatted(NO_LONG_WAIT, durability());
    }

    @Override
    public String update() {
        return """
                UPDATE holdfast_lock SET version = version + 1, counter = ?, clock = ?, holder = ?, held = ?, permits = ?,
                  capacity = ?, since = ?, expires = ?, owner = ?, more = ?, others = ?
                WHERE name = (
                  SELECT name FROM holdfast_lock WHERE name = ? AND version = ? FOR NO KEY UPDATE SKIP LOCKED
                )
                RETURNING %s
                """.formatted(durability());
    }

    // The server has committed what a warning of such a wait is about, and shows it to all: the wait was cancelled.
    @Override
    public void checkDone(Statement statement) throws SQLException {
        check(statement.getWarnings());
    }

    @Override
    public void commit(LockStatements statements) throws SQLException {
        Connection connection = statements.connection();
        connection.clearWarnings();
        super.commit(statements);
        check(connection.getWarnings());
    }

    private static void check(@Nullable SQLWarning first) throws SQLException {
        for (SQLWarning warning = first; warning != null; warning = warning.getNextWarning()) {
            if (mayBeOfAWait(warning)) {
                throw new SQLException(
                        "The standby may not have it: " + warning.getMessage(), UNKNOWN_OUTCOME, warning);
            }
        }
    }

    // One that a pool has made, or a driver of another class loader, does not say where the server warned.
    private static boolean mayBeOfAWait(SQLWarning warning) {
        String state = warning.getSQLState();
        if (state != null && state.startsWith(NOTICE)) {
            return false;
        }
        return !(warning instanceof PSQLWarning server)
                || WAIT_FOR_A_STANDBY.equals(server.getServerErrorMessage().getRoutine());
    }

    // All can read a commit whose wait for the standby has ended too early: the wait was cancelled, or the session or
    // the server ended.
    @Override
    public String confirmation() {
        return relaxed
                ? ""
                : ", CASE WHEN name IS NOT NULL AND " + HAS_A_STANDBY + " THEN " + COMMIT_WITH_A_STANDBY + " END";
    }

    @Override
    public void confirm(LockStatements statements, Collection<LockName> names) throws SQLException {
        if (!relaxed) {
            statements.query(
                    "SELECT " + COMMIT_WITH_A_STANDBY + " WHERE " + HAS_A_STANDBY, statement -> {}, ResultSet::next);
        }
    }

    // If a crash brings rows back, they are removed again.
    @Override
    public String removeIdle(int names) {
        return """
                DELETE FROM holdfast_lock WHERE name IN (SELECT name FROM holdfast_lock WHERE %s FOR UPDATE SKIP LOCKED)
                RETURNING %s
                """.formatted(isIdle(names), NOT_ON_DISK);
    }

    // Each transaction begins with a read.
    @Override
    public String oneRow() {
        return "(SELECT " + NO_LONG_IDLE + ", " + NO_LONG_WAIT + ") AS single";
    }

    // Another client may be inserting the same row, in a transaction that does not end.
    @Override
    public String insert() {
        return """
                INSERT INTO holdfast_lock (counter, clock, holder, held, permits, capacity, since, expires, owner, more, others,
                  name, version)
                SELECT CAST(? AS bigint), CAST(? AS text), CAST(? AS text), CAST(? AS bigint), CAST(? AS integer),
                  CAST(? AS integer), CAST(? AS bigint), CAST(? AS bigint), CAST(? AS text), CAST(? AS integer),
                  CAST(? AS text), CAST(? AS text), CAST(? AS bigint)
                FROM (SELECT %s AS waits, %s AS durable) AS c WHERE c.waits IS NOT NULL AND c.durable IS NOT NULL
                """.formatted(NO_LONG_WAIT, durability());
    }

    /** The setting that each statement makes whose commit is to be durable, or need not be. */
    String durability() {
        return relaxed ? NOT_ON_DISK : WARN;
    }

    @Override
    public NameEncoding names() {
        return NameEncoding.TEXT;
    }

    @Override
    @Nullable
    public TablePlace place(Connection connection, LockTables others) throws SQLException {
        return TablePlace.inPostgres(connection, others);
    }

    @Override
    public boolean canAdopt() {
        return true;
    }

    @Override
    @Nullable
    public String timeIn(String type, @Nullable Boolean isUtc) {
        if (type.equals("timestamptz")) {
            return "clock_timestamp()";
        }
        if (!type.equals("timestamp") || isUtc == null) {
            return null;
        }
        return isUtc ? "timezone('UTC', clock_timestamp())" : "CAST(clock_timestamp() AS timestamp)";
    }

    // A statement locks its tables before it can set anything, and a setting of the session would stay in a pooler.
    @Override
    public String impatience() {
        return "SET LOCAL lock_timeout = '100ms'";
    }

    @Override
    protected String earlier(String time, long micros) {
        return time + " - interval '" + micros + " microseconds'";
    }

    @Override
    public boolean isRace(SQLException failure) {
        return stateIs(failure, RACES) || isLocked(failure);
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return LOCK_NOT_AVAILABLE.equals(failure.getSQLState());
    }

    // It may have been the primary until now, and the URL may lead to the next one.
    @Override
    public boolean breaksConnection(SQLException failure) {
        return READ_ONLY.equals(failure.getSQLState());
    }

    @Override
    public boolean isMissing(SQLException failure) {
        return stateIs(failure, MISSING);
    }

    @Override
    boolean isRefused(SQLException failure) {
        return stateIs(failure, REFUSED) || isOfAnotherClient(failure);
    }

    @Override
    boolean isUndone(SQLException failure) {
        return stateIs(failure, UNDONE) || isOfAnotherClient(failure);
    }

    // Whether the server reports that the prepared statement of the request is another client's, or is in another
    // session.
    private static boolean isOfAnotherClient(SQLException failure) {
        return stateIs(failure, NOT_PREPARED_HERE)
                || (PROTOCOL_VIOLATION.equals(failure.getSQLState())
                        && String.valueOf(failure.getMessage()).contains(ABOUT_PREPARED));
    }

    @Override
    String remedy(SQLException failure) {
        if (READ_ONLY.equals(failure.getSQLState())) {
            return ". Locks need the server that may write: with a replica in the URL, add targetServerType=primary";
        }
        if (isOfAnotherClient(failure)) {
            return ". A pooler in transaction mode is in between: add holdfast.serverPrepare=off to the URL, or, over a pool of"
                    + " yours, prepareThreshold=0 to that of the driver";
        }
        return stateIs(failure, List.of("42501"))
                ? tables().in(
                                ". This user needs SELECT, INSERT, UPDATE and DELETE on holdfast_lock and SELECT on holdfast_schema,"
                                        + " and for a node of a quorum SELECT, INSERT and UPDATE on holdfast_node")
                : "";
    }
}
