package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.NameEncoding;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.h2.api.ErrorCode;
import org.jspecify.annotations.Nullable;

/**
 * H2. The time is the database's wall clock. A single row is changed in autocommit, by compare-and-set on its version, so
 * that no client holds a row lock between two statements; several rows are changed in one transaction, in the order of
 * their names. No statement waits longer than {@link #LOCK_TIMEOUT} for a row that a user's transaction may hold.
 */
public class H2Dialect extends PooledDialect {

    /** How long a statement waits for a row. */
    static final Duration LOCK_TIMEOUT = Duration.ofMillis(100);

    /** The statement that is run on each new connection. */
    public static final String PREPARES = "SET LOCK_TIMEOUT " + LOCK_TIMEOUT.toMillis();

    private static final String CLOCK = "utc";

    // Bytes, because the comparison of text depends on settings of the database: case, collation, trailing spaces.
    private static final String CREATE_LOCK = """
            CREATE TABLE IF NOT EXISTS holdfast_lock (
              name VARBINARY(255) NOT NULL PRIMARY KEY, version BIGINT NOT NULL, counter BIGINT NOT NULL,
              clock VARCHAR(64) NOT NULL, holder VARCHAR(100) NOT NULL, held BIGINT NOT NULL, permits INTEGER NOT NULL,
              capacity INTEGER NOT NULL, since BIGINT NOT NULL, expires BIGINT NOT NULL, owner VARCHAR NOT NULL,
              more INTEGER NOT NULL, others CHARACTER LARGE OBJECT NOT NULL
            )
            """;

    private static final String CREATE_SCHEMA = """
            CREATE TABLE IF NOT EXISTS holdfast_schema (
              version INTEGER NOT NULL PRIMARY KEY, clock VARCHAR(64) NOT NULL, origin BIGINT NOT NULL
            )
            """;

    private static final Set<Integer> RACES = Set.of(
            ErrorCode.DEADLOCK_1,
            ErrorCode.CONCURRENT_UPDATE_1,
            ErrorCode.DUPLICATE_KEY_1,
            ErrorCode.LOCK_TIMEOUT_1,
            ErrorCode.ROW_NOT_FOUND_WHEN_DELETING_1);

    private static final Set<Integer> MISSING = Set.of(
            ErrorCode.TABLE_OR_VIEW_NOT_FOUND_1,
            ErrorCode.TABLE_OR_VIEW_NOT_FOUND_WITH_CANDIDATES_2,
            ErrorCode.TABLE_OR_VIEW_NOT_FOUND_DATABASE_EMPTY_1,
            ErrorCode.COLUMN_NOT_FOUND_1);

    private static final Set<Integer> REFUSED = Set.of(
            ErrorCode.WRONG_USER_OR_PASSWORD,
            ErrorCode.NOT_ENOUGH_RIGHTS_FOR_1,
            ErrorCode.DATABASE_IS_READ_ONLY,
            ErrorCode.DATABASE_NOT_FOUND_WITH_IF_EXISTS_1,
            ErrorCode.REMOTE_DATABASE_NOT_FOUND_1,
            ErrorCode.URL_FORMAT_ERROR_2,
            ErrorCode.UNSUPPORTED_SETTING_1,
            ErrorCode.FILE_VERSION_ERROR_1,
            ErrorCode.FILE_CORRUPTED_1);

    /** The errors of a statement with SKIP LOCKED in H2 before 2.2, which does not support it. */
    private static final Set<Integer> NOT_UNDERSTOOD = Set.of(ErrorCode.SYNTAX_ERROR_1, ErrorCode.SYNTAX_ERROR_2);

    private final String url;

    /** @param url the database, for messages; without a password */
    public H2Dialect(String url) {
        this.url = url;
    }

    @Override
    public String product() {
        return "h2";
    }

    @Override
    public String clock() {
        return CLOCK;
    }

    @Override
    public String now() {
        return "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)";
    }

    @Override
    public String epoch() {
        return now();
    }

    /** The statements that create the tables, as a script for a person to run. */
    public String ddl() {
        return sql(ServerDialect.script(createTables()));
    }

    @Override
    public List<String> createTables() {
        return List.of(CREATE_LOCK, CREATE_SCHEMA, TableSchema.INSERT_VERSION);
    }

    // Each of the two times is read once, as a column of the source, so that all columns get the same values.
    @Override
    public String acquireFree() {
        return """
                SELECT counter FROM FINAL TABLE (
                  MERGE INTO holdfast_lock AS l USING (
                    SELECT CAST(? AS VARBINARY(255)) AS name, CAST(? AS VARCHAR) AS clock, CAST(? AS VARCHAR) AS holder,
                      CAST(? AS INTEGER) AS permits, CAST(? AS INTEGER) AS capacity, CAST(? AS BIGINT) AS lease,
                      CAST(? AS VARCHAR) AS owner, $now AS since, $epoch AS counter
                  ) AS c ON l.name = c.name
                  WHEN MATCHED AND ((l.more = 0 AND l.expires <= c.since) OR l.clock <> c.clock) THEN UPDATE SET
                    version = l.version + 1, counter = GREATEST(l.counter + 1, c.counter), clock = c.clock,
                    holder = c.holder, held = GREATEST(l.counter + 1, c.counter), permits = c.permits,
                    capacity = c.capacity, since = c.since, expires = c.since + c.lease, owner = c.owner, more = 0,
                    others = '-'
                  WHEN NOT MATCHED THEN INSERT (name, version, counter, clock, holder, held, permits, capacity, since,
                    expires, owner, more, others)
                  VALUES (c.name, c.counter, c.counter, c.clock, c.holder, c.counter, c.permits, c.capacity, c.since,
                    c.since + c.lease, c.owner, 0, '-')
                )
                """;
    }

    @Override
    public String renewSole(int claims) {
        String values = String.join(
                ", ",
                Collections.nCopies(
                        claims,
                        "(CAST(? AS VARBINARY(255)), CAST(? AS VARCHAR), CAST(? AS BIGINT), CAST(? AS VARCHAR))"));
        return """
                SELECT name, holder, held, expires - $now FROM FINAL TABLE (
                  MERGE INTO holdfast_lock AS l USING (VALUES %s) AS c(name, holder, lease, owner)
                  ON l.name = c.name
                  WHEN MATCHED AND l.holder = c.holder AND l.more = 0 AND l.expires > $now AND l.clock = ? THEN UPDATE SET
                    version = l.version + 1, expires = GREATEST(l.expires, $now + c.lease), owner = c.owner
                )
                """.formatted(values);
    }

    // If a user's transaction has locked one of the rows, the statement fails for all. Then the rows that can be
    // locked at once are locked first and renewed together; the others are left to the caller, which renews them one
    // by one.
    @Override
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        try {
            super.renewSole(statements, claims, renewed);
        } catch (SQLException failure) {
            if (!isLocked(failure)) {
                throw failure;
            }
            renewUnlocked(statements, claims, renewed);
        }
    }

    private void renewUnlocked(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        Map<ClaimId, Granted> uncommitted = new HashMap<>();
        boolean ended = false;
        try {
            statements.begin(claims.size() + 1);
            Set<LockName> unlocked = lockWhatIsFree(statements, claims);
            List<Claim> rest = claims.stream()
                    .filter(claim -> unlocked.contains(claim.name()))
                    .toList();
            if (!rest.isEmpty()) {
                super.renewSole(statements, rest, uncommitted);
            }
            statements.commit();
            ended = true;
            renewed.putAll(uncommitted);
        } catch (SQLException failure) {
            if (!NOT_UNDERSTOOD.contains(failure.getErrorCode())) {
                throw failure;
            }
        } finally {
            if (!ended) {
                statements.rollBack();
            }
        }
    }

    private Set<LockName> lockWhatIsFree(LockStatements statements, List<Claim> claims) throws SQLException {
        String marks = String.join(", ", Collections.nCopies(claims.size(), "?"));
        return statements.query(
                sql("SELECT name FROM holdfast_lock WHERE name IN (" + marks + ") FOR UPDATE SKIP LOCKED"),
                statement -> {
                    int index = 1;
                    for (Claim claim : claims) {
                        bindName(statement, index++, claim.name().value());
                    }
                },
                rows -> {
                    Set<LockName> names = new HashSet<>();
                    while (rows.next()) {
                        names.add(readName(rows, 1));
                    }
                    return names;
                });
    }

    @Override
    public NameEncoding names() {
        return NameEncoding.BYTES;
    }

    @Override
    public boolean canAdopt() {
        return true;
    }

    @Override
    @Nullable
    public String timeIn(String type, @Nullable Boolean isUtc) {
        if (type.startsWith("TIMESTAMP") && type.contains("WITH TIME ZONE")) {
            return "CURRENT_TIMESTAMP(6)";
        }
        if (!type.equals("TIMESTAMP") || isUtc == null) {
            return null;
        }
        return isUtc ? "CAST(CURRENT_TIMESTAMP(6) AT TIME ZONE 'UTC' AS TIMESTAMP(6))" : "LOCALTIMESTAMP(6)";
    }

    @Override
    protected String earlier(String time, long micros) {
        return "DATEADD(MICROSECOND, " + -micros + ", " + time + ")";
    }

    @Override
    public boolean isRace(SQLException failure) {
        return RACES.contains(failure.getErrorCode());
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return failure.getErrorCode() == ErrorCode.LOCK_TIMEOUT_1;
    }

    @Override
    public boolean isMissing(SQLException failure) {
        return MISSING.contains(failure.getErrorCode());
    }

    @Override
    public StoreException failure(SQLException failure) {
        String what = url + ": " + withCause(failure);
        // The pool wraps the exception of H2 without its error code.
        int code = origin(failure).getErrorCode();
        if (isMissing(failure)) {
            return TableSchema.wrong(tables(), url, String.valueOf(failure.getMessage()), failure);
        }
        if (code == ErrorCode.DATABASE_ALREADY_OPEN_1) {
            return StoreException.refused(
                    what + " To share a file of H2 between processes, add ;AUTO_SERVER=TRUE to the URL in all of them",
                    failure);
        }
        if (REFUSED.contains(code)) {
            return StoreException.refused(what, failure);
        }
        return StoreException.unavailable(isRace(failure) ? Effect.NONE : Effect.UNKNOWN, what, failure);
    }

    private static SQLException origin(SQLException failure) {
        return failure.getCause() instanceof SQLException cause ? origin(cause) : failure;
    }
}
