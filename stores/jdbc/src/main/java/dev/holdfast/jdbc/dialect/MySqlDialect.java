package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.NameEncoding;
import dev.holdfast.jdbc.row.RememberedNames;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.row.TablePlace;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * MySQL 8, in SQL that MariaDB supports as well. A row is changed through a derived table that locks it unless
 * another client has it locked, so no statement waits for an existing row. The join begins at the derived table, so
 * only that row is locked.
 *
 * <p>The number of changed rows shows whether a row matched only for updates that always change something, as all of
 * ours do. The counter of a grant is returned as the generated key of the same statement.
 */
public class MySqlDialect extends ServerDialect {

    // Names are bytes, because a collation would take "A" for "a", and "a " for "a". There is no other index,
    // because a write would have to lock it, too.
    private static final String CREATE_LOCK = """
            CREATE TABLE IF NOT EXISTS holdfast_lock (
              name VARBINARY(255) NOT NULL PRIMARY KEY, version BIGINT NOT NULL, counter BIGINT NOT NULL,
              clock VARCHAR(64) NOT NULL, holder VARCHAR(100) NOT NULL, held BIGINT NOT NULL, permits INTEGER NOT NULL,
              capacity INTEGER NOT NULL, since BIGINT NOT NULL, expires BIGINT NOT NULL, owner MEDIUMTEXT NOT NULL,
              more INTEGER NOT NULL, others MEDIUMTEXT NOT NULL
            ) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
            """;

    private static final String CREATE_SCHEMA = """
            CREATE TABLE IF NOT EXISTS holdfast_schema (
              version INTEGER NOT NULL PRIMARY KEY, clock VARCHAR(64) NOT NULL, origin BIGINT NOT NULL
            ) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
            """;

    private static final String TAKE = """
            UPDATE (
              SELECT name, GREATEST(counter + 1, $epoch) AS minted FROM holdfast_lock
              WHERE name = ? AND ((more = 0 AND expires <= $now) OR clock <> ?) LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS f STRAIGHT_JOIN holdfast_lock AS l ON l.name = f.name
            SET l.version = l.version + 1, l.counter = LAST_INSERT_ID(f.minted), l.clock = ?, l.holder = ?, l.held = f.minted,
              l.permits = ?, l.capacity = ?, l.since = $now, l.expires = $now + ?, l.owner = ?, l.more = 0, l.others = '-'
            """;

    // In MySQL all times that one statement reads are the same.
    private static final String MAKE = """
            INSERT INTO holdfast_lock (name, version, counter, clock, holder, held, permits, capacity, since, expires, owner,
              more, others)
            VALUES (?, $epoch, LAST_INSERT_ID($epoch), ?, ?, $epoch, ?, ?, $now, $now + ?, ?, 0, '-')
            """;

    private static final String RENEW = """
            UPDATE (
              SELECT k.name, c.lease, c.owner FROM (%s) AS c STRAIGHT_JOIN holdfast_lock AS k ON k.name = c.name
              WHERE k.holder = c.holder AND k.more = 0 AND k.expires > $now AND k.clock = ?
              LIMIT %d FOR UPDATE SKIP LOCKED
            ) AS f STRAIGHT_JOIN holdfast_lock AS l ON l.name = f.name
            SET l.version = l.version + 1, l.expires = GREATEST(l.expires, $now + f.lease), l.owner = f.owner
            """;

    private static final String RENEWED = """
            SELECT l.name, l.holder, l.held, l.expires - $now FROM (%s) AS c
            STRAIGHT_JOIN holdfast_lock AS l ON l.name = c.name
            WHERE l.holder = c.holder AND l.more = 0 AND l.expires > $now AND l.clock = ?
            """;

    static final String CLAIM =
            "SELECT CAST(? AS BINARY) AS name, CAST(? AS CHAR) AS holder, CAST(? AS SIGNED) AS lease, CAST(? AS CHAR) AS owner";

    // A client that vanishes in the midst of a transaction, without a word from its network, keeps its rows for so
    // long. The limit of the waits for rows is for connections that are not of our pool.
    private static final String LIMIT_TRANSACTION =
            "SET @holdfast_wait = @@SESSION.wait_timeout, @holdfast_lock = @@SESSION.innodb_lock_wait_timeout,"
                    + " SESSION wait_timeout = " + MOST_IDLE.toSeconds() + ", SESSION innodb_lock_wait_timeout = 1";
    private static final String UNLIMIT =
            "SET SESSION wait_timeout = @holdfast_wait, SESSION innodb_lock_wait_timeout = @holdfast_lock";

    private static final String LIMIT_WAIT =
            "SET @holdfast_lock = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1";
    private static final String UNLIMIT_WAIT = "SET SESSION innodb_lock_wait_timeout = @holdfast_lock";

    // Among these: group replication has undone the transaction because another member's came first.
    private static final Set<Integer> RACES = Set.of(1213, 1020, 1062, 3101);
    private static final int LOCK_WAIT_TIMEOUT = 1205;
    private static final Set<Integer> MISSING = Set.of(1146, 1054);
    // Among these: a text that the column has no characters for, or that is too long for it.
    private static final Set<Integer> REFUSED = Set.of(1044, 1045, 1049, 1064, 1142, 1143, 1227, 1366, 1370, 1406);
    private static final Set<Integer> READ_ONLY = Set.of(1290, 1792, 1836);
    private static final Set<Integer> UNDONE = Set.of(1040, 1041, 1048, 1114, 1153, 1203, 1226, 1301, 1461, 1969, 3024);

    // Each session may read it.
    private static final String WAITS_FOR_A_REPLICA = "@@rpl_semi_sync_master_enabled";

    // It changes something in each format of the binary log, and its commit waits for the replica, and so for
    // all that was committed before. Others that change the row at this moment keep it locked while they wait
    // for the replica.
    private static final String COMMIT_WITH_A_REPLICA =
            "SET STATEMENT innodb_lock_wait_timeout = 1 FOR UPDATE holdfast_lock SET version = version + 1 WHERE name = ?";

    private static final String ENGINE = """
            SELECT t.engine, e.transactions FROM information_schema.tables AS t
            LEFT JOIN information_schema.engines AS e ON e.engine = t.engine
            WHERE t.table_schema = COALESCE(?, DATABASE()) AND t.table_name = ?
            """;

    private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+).*");

    /**
     * The names whose row exists, most likely. For others an insert is tried first. If the row was removed because it was idle, the
     * transition that follows makes it anew.
     */
    private final RememberedNames known = new RememberedNames();

    /** Whether sessions wait for locked rows for as long as somebody else has set. */
    private final boolean limitsInserts;

    /** Set when the dialect is started. */
    private boolean isMaria;

    /** @param sessionsAreOurs whether their {@code innodb_lock_wait_timeout} was set by the URL */
    public MySqlDialect(String url, boolean sessionsAreOurs) {
        super(url);
        this.limitsInserts = !sessionsAreOurs;
    }

    @Override
    public String product() {
        return "mysql";
    }

    // UTC_TIMESTAMP has no daylight saving time, and is the time of the statement.
    @Override
    public String now() {
        return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))";
    }

    @Override
    public List<String> createTables() {
        return List.of(CREATE_LOCK, CREATE_SCHEMA, TableSchema.INSERT_VERSION);
    }

    @Override
    public void start(LockStatements statements) throws SQLException {
        String version = statements.query(
                "SELECT VERSION()", statement -> {}, rows -> rows.next() ? String.valueOf(rows.getString(1)) : "");
        isMaria = version.contains("MariaDB");
        Matcher number = VERSION.matcher(version);
        int numbers =
                number.matches() ? 1_000 * Integer.parseInt(number.group(1)) + Integer.parseInt(number.group(2)) : 0;
        checkServer(version, isMaria, numbers >= (isMaria ? 10_006 : 8_000));
    }

    void checkServer(String version, boolean isMaria, boolean isNewEnough) {
        if (!isNewEnough) {
            throw StoreException.refused(
                    url() + " is of version " + version
                            + ", which cannot skip locked rows. Use MySQL 8.0 or MariaDB 10.6," + " or newer",
                    null);
        }
    }

    /** A prefix for a statement, with which it fails instead of waiting for a locked row; may be empty. */
    String noWait() {
        return "";
    }

    @Override
    public long acquireFree(LockStatements statements, Claim claim) throws SQLException {
        LockName name = claim.name();
        if (!known.contains(name)) {
            long counter = make(statements, claim);
            known.saw(name, true);
            if (counter != 0) {
                return counter;
            }
        }
        return takeKnown(statements, claim);
    }

    private long make(LockStatements statements, Claim claim) throws SQLException {
        try {
            return inserting(
                    statements,
                    () -> statements.generated(sql(noWait() + MAKE), statement -> {
                        bindName(statement, 1, claim.name().value());
                        statement.setString(2, clock());
                        statement.setString(3, claim.id().toString());
                        statement.setInt(4, claim.permits());
                        statement.setInt(5, claim.limit());
                        statement.setLong(6, RowCodec.micros(claim.lease()));
                        statement.setString(7, RowCodec.owner(claim));
                    }));
        } catch (SQLException failure) {
            if (isRace(failure)) {
                return 0;
            }
            throw failure;
        }
    }

    /** Takes a free lock whose row most likely exists. Returns the new counter, or 0. */
    long takeKnown(LockStatements statements, Claim claim) throws SQLException {
        return statements.generated(sql(TAKE), statement -> {
            bindName(statement, 1, claim.name().value());
            statement.setString(2, clock());
            statement.setString(3, clock());
            statement.setString(4, claim.id().toString());
            statement.setInt(5, claim.permits());
            statement.setInt(6, claim.limit());
            statement.setLong(7, RowCodec.micros(claim.lease()));
            statement.setString(8, RowCodec.owner(claim));
        });
    }

    // A renewal needs two statements, because MySQL does not return the rows that an update changed. The result is
    // what the rows contain when the second statement reads them.
    @Override
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        String union = String.join(" UNION ALL ", Collections.nCopies(claims.size(), CLAIM));
        int changed = statements.change(
                sql(RENEW.formatted(union, claims.size())), statement -> bindClaims(statement, claims, claims.size()));
        if (changed > 0) {
            statements.query(
                    sql(RENEWED.formatted(union)),
                    statement -> bindClaims(statement, claims, claims.size()),
                    rows -> LockStatements.renewed(rows, renewed));
        }
    }

    /** Sets the parameters of so many {@link #CLAIM}s, and the clock after them. Those that are left have a name that no lock has. */
    final void bindClaims(PreparedStatement statement, List<Claim> claims, int size) throws SQLException {
        int index = 1;
        for (int i = 0; i < size; i++) {
            Claim claim = claims.get(Math.min(i, claims.size() - 1));
            bindName(statement, index++, i < claims.size() ? claim.name().value() : "");
            statement.setString(index++, claim.id().toString());
            statement.setLong(index++, RowCodec.micros(claim.lease()));
            statement.setString(index++, RowCodec.owner(claim));
        }
        statement.setString(index, clock());
    }

    @Override
    public String releaseSole() {
        return """
                UPDATE (
                  SELECT name FROM holdfast_lock
                  WHERE name = ? AND holder = ? AND more = 0 AND clock = ? AND expires > $now LIMIT 1 FOR UPDATE SKIP LOCKED
                ) AS f STRAIGHT_JOIN holdfast_lock AS l ON l.name = f.name
                SET l.version = l.version + 1, l.holder = '-', l.expires = %d
                """.formatted(LockRow.NEVER);
    }

    @Override
    public String update() {
        return """
                UPDATE (
                  SELECT name FROM holdfast_lock WHERE name = ? AND version = ? LIMIT 1 FOR UPDATE SKIP LOCKED
                ) AS f STRAIGHT_JOIN holdfast_lock AS l ON l.name = f.name
                SET l.version = l.version + 1, l.counter = ?, l.clock = ?, l.holder = ?, l.held = ?, l.permits = ?,
                  l.capacity = ?, l.since = ?, l.expires = ?, l.owner = ?, l.more = ?, l.others = ?
                """;
    }

    @Override
    public String removeIdle(int names) {
        return """
                DELETE l FROM (SELECT name FROM holdfast_lock WHERE %s LIMIT %d FOR UPDATE SKIP LOCKED) AS f
                STRAIGHT_JOIN holdfast_lock AS l ON l.name = f.name
                """.formatted(isIdle(names), names);
    }

    @Override
    public void begin(LockStatements statements, int rows) throws SQLException {
        super.begin(statements, rows);
        if (!statements.connection().getAutoCommit()) {
            limit(statements, LIMIT_TRANSACTION);
        }
    }

    @Override
    public void reset(LockStatements statements) throws SQLException {
        if (!statements.connection().getAutoCommit()) {
            super.reset(statements);
            statements.execute(UNLIMIT);
        }
    }

    // In a transaction, the limits are set already.
    @Override
    public int insertRow(LockStatements statements, LockStatements.Change insert) throws SQLException {
        return (int) inserting(statements, insert::run);
    }

    private long inserting(LockStatements statements, Insert insert) throws SQLException {
        if (!limitsInserts || !statements.connection().getAutoCommit()) {
            return insert.run();
        }
        limit(statements, LIMIT_WAIT);
        try {
            return insert.run();
        } finally {
            unlimitWait(statements);
        }
    }

    // If the reply is lost, nobody knows whether the settings before were kept.
    private static void limit(LockStatements statements, String settings) throws SQLException {
        boolean done = false;
        try {
            statements.execute(settings);
            done = true;
        } finally {
            if (!done) {
                statements.spoil();
            }
        }
    }

    private static void unlimitWait(LockStatements statements) {
        try {
            statements.execute(UNLIMIT_WAIT);
        } catch (SQLException failure) {
            statements.spoil();
        }
    }

    /** An insert, which returns a number. */
    @FunctionalInterface
    private interface Insert {
        long run() throws SQLException;
    }

    // It may have been the primary until now, and the URL may lead to the next one.
    @Override
    public boolean breaksConnection(SQLException failure) {
        return READ_ONLY.contains(failure.getErrorCode());
    }

    // All can read a commit before the replica has it: with AFTER_COMMIT always, else if its session was killed or the
    // server has crashed while it waited. MySQL's variables have other names, and were not tried.
    @Override
    public String confirmation() {
        return isMaria ? ", " + WAITS_FOR_A_REPLICA : "";
    }

    @Override
    public boolean readsNeedConfirmation(ResultSet rows, int column) throws SQLException {
        return isMaria && rows.getBoolean(column);
    }

    @Override
    public void confirm(LockStatements statements, Collection<LockName> names) throws SQLException {
        if (!isMaria || !waitsForReplica(statements)) {
            return;
        }
        // One commit is enough for all: the replica has what was committed before, too. A row may have been removed.
        for (LockName name : names) {
            if (0 < statements.change(sql(COMMIT_WITH_A_REPLICA), statement -> bindName(statement, 1, name.value()))) {
                return;
            }
        }
        throw new SQLException("The replica may not have the grants of " + names, UNKNOWN_OUTCOME);
    }

    private static boolean waitsForReplica(LockStatements statements) throws SQLException {
        return statements.query(
                "SELECT " + WAITS_FOR_A_REPLICA, statement -> {}, rows -> rows.next() && rows.getBoolean(1));
    }

    @Override
    public boolean keysFirst() {
        return true;
    }

    @Override
    public NameEncoding names() {
        return NameEncoding.BYTES;
    }

    @Override
    public boolean canAdopt() {
        return true;
    }

    // What is written into a MyISAM table stays there if the transaction is undone.
    @Override
    @Nullable
    public String engineWithoutTransactions(Connection connection, TablePlace place) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(ENGINE)) {
            statement.setString(1, place.catalog());
            statement.setString(2, place.table());
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return "unknown";
                }
                return "YES".equals(rows.getString(2)) ? null : String.valueOf(rows.getString(1));
            }
        }
    }

    @Override
    @Nullable
    public String timeIn(String type, @Nullable Boolean isUtc) {
        if (type.equals("TIMESTAMP")) {
            return "CURRENT_TIMESTAMP(6)";
        }
        if (!type.equals("DATETIME") || isUtc == null) {
            return null;
        }
        return isUtc ? "UTC_TIMESTAMP(6)" : "CURRENT_TIMESTAMP(6)";
    }

    // A TIMESTAMP is compared as a time of the session's zone, in which an hour is missing in spring.
    @Override
    public String isOlder(String column, String type, String now, long micros) {
        return type.equals("TIMESTAMP")
                ? "UNIX_TIMESTAMP(" + column + ") < $now / 1000000 - "
                        + BigDecimal.valueOf(micros, 6).toPlainString()
                : super.isOlder(column, type, now, micros);
    }

    @Override
    protected String earlier(String time, long micros) {
        return time + " - INTERVAL " + micros + " MICROSECOND";
    }

    @Override
    public boolean isRace(SQLException failure) {
        return RACES.contains(failure.getErrorCode()) || isLocked(failure);
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return failure.getErrorCode() == LOCK_WAIT_TIMEOUT;
    }

    @Override
    public boolean isMissing(SQLException failure) {
        return MISSING.contains(failure.getErrorCode());
    }

    @Override
    boolean isRefused(SQLException failure) {
        return REFUSED.contains(failure.getErrorCode());
    }

    @Override
    boolean isUndone(SQLException failure) {
        return UNDONE.contains(failure.getErrorCode()) || READ_ONLY.contains(failure.getErrorCode());
    }

    @Override
    String remedy(SQLException failure) {
        return READ_ONLY.contains(failure.getErrorCode())
                ? ". Locks need the server that may write: name the primary in the URL"
                : "";
    }
}
