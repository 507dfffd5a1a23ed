package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.row.LockRow;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTable.Rows;
import dev.holdfast.jdbc.row.NameEncoding;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLSyntaxErrorException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransactionRollbackException;
import java.util.List;
import java.util.Map;

/**
 * Any database with a unique key, 64-bit numbers and a clock that can be given as a SQL expression. It reads a row,
 * and then inserts it, or updates it if the version is as it was read. It uses no upsert, no rows returned by an
 * update, no locking clauses, no LIMIT, and no type that only some databases have.
 *
 * <p>An acquire is two statements, a release one, a renewal one for 256 claims and one more for each.
 *
 * <p>Names are stored as hexadecimal digits of their UTF-8 bytes, which every collation distinguishes and sorts in
 * the same way.
 */
public final class GenericDialect extends ServerDialect {

    private static final String CREATE_LOCK = """
            CREATE TABLE holdfast_lock (
              name VARCHAR(510) NOT NULL PRIMARY KEY, version BIGINT NOT NULL, counter BIGINT NOT NULL,
              clock VARCHAR(64) NOT NULL, holder VARCHAR(100) NOT NULL, held BIGINT NOT NULL, permits INTEGER NOT NULL,
              capacity INTEGER NOT NULL, since BIGINT NOT NULL, expires BIGINT NOT NULL, owner CLOB NOT NULL,
              more INTEGER NOT NULL, others CLOB NOT NULL
            )
            """;

    private static final String CREATE_SCHEMA = """
            CREATE TABLE holdfast_schema (
              version INTEGER NOT NULL PRIMARY KEY, clock VARCHAR(64) NOT NULL, origin BIGINT NOT NULL
            )
            """;

    private static final String INSERT_VERSION =
            "INSERT INTO holdfast_schema (version, clock, origin) VALUES (" + TableSchema.VERSION + ", '-', 0)";

    private static final List<String> RACES = List.of("23", "40");
    /** The connection broke while the server committed: it is not known whether it did. */
    private static final String COMMIT_UNKNOWN = "40003";

    private static final List<String> NO_RIGHT = List.of("28", "42501", "42505");
    private static final List<String> WRONG_WORDS = List.of("42");
    private static final List<String> TIMED_OUT = List.of("57014", "HYT00", "55P03");

    private final String clock;

    private GenericDialect(String url, String clock) {
        super(url);
        this.clock = clock;
    }

    public static GenericDialect of(String shown, ServerOptions options) {
        String clock = options.clock();
        if (clock == null || clock.isBlank()) {
            throw new IllegalArgumentException(
                    "Of the databases with a jdbc: URL, PostgreSQL, MariaDB, MySQL and H2 are known, but the URL was "
                            + shown
                            + ". For another one, give its time with option clock: a SQL expression in"
                            + " microseconds since 1970. For SQLite use sqlite:PATH");
        }
        return new GenericDialect(shown, clock);
    }

    @Override
    public String product() {
        return "sql";
    }

    @Override
    public String now() {
        return clock;
    }

    @Override
    public List<String> createTables() {
        return List.of(CREATE_LOCK, CREATE_SCHEMA, INSERT_VERSION);
    }

    // This table has one row, and every database supports a query of a table.
    @Override
    public String oneRow() {
        return "(SELECT origin FROM holdfast_schema) single";
    }

    @Override
    public boolean knowsLimit() {
        return false;
    }

    // The shortest timeout that every driver accepts.
    @Override
    public int queryTimeoutSeconds() {
        return 1;
    }

    @Override
    public long acquireFree(LockStatements statements, Claim claim) throws SQLException {
        Rows rows = statements.read(List.of(claim.name()));
        LockRow row = rows.row(claim.name());
        if (row.mayBeInUse(rows.now())) {
            return 0;
        }
        long counter = Math.max(row.counter() + 1, rows.epoch());
        LockRow taken = new LockRow(
                claim.name(),
                row.version(),
                counter,
                claim.id().toString(),
                counter,
                claim.permits(),
                claim.limit(),
                rows.now(),
                rows.now() + RowCodec.micros(claim.lease()),
                RowCodec.owner(claim),
                0,
                LockRow.NONE);
        return statements.write(taken, rows.epoch()) ? counter : 0;
    }

    @Override
    public void renewSole(LockStatements statements, List<Claim> claims, Map<ClaimId, Granted> renewed)
            throws SQLException {
        Rows rows = statements.read(claims.stream().map(Claim::name).toList());
        for (Claim claim : claims) {
            LockRow row = rows.row(claim.name());
            boolean isSole = row.more() == 0
                    && row.expires() > rows.now()
                    && row.holder().equals(claim.id().toString());
            if (isSole && renew(statements, claim, row, rows.now())) {
                long expires = Math.max(row.expires(), rows.now() + RowCodec.micros(claim.lease()));
                renewed.put(claim.id(), new Granted(row.held(), RowCodec.duration(expires - rows.now())));
            }
        }
    }

    // If one row cannot be written at once, the others are renewed all the same.
    private boolean renew(LockStatements statements, Claim claim, LockRow row, long now) throws SQLException {
        long expires = Math.max(row.expires(), now + RowCodec.micros(claim.lease()));
        LockRow longer = new LockRow(
                row.name(),
                row.version(),
                row.counter(),
                row.holder(),
                row.held(),
                row.permits(),
                row.capacity(),
                row.since(),
                expires,
                RowCodec.owner(claim),
                0,
                LockRow.NONE);
        try {
            return statements.write(longer, now);
        } catch (SQLException failure) {
            if (isRace(failure)) {
                return false;
            }
            throw failure;
        }
    }

    @Override
    public NameEncoding names() {
        return NameEncoding.DIGITS;
    }

    @Override
    public boolean isRace(SQLException failure) {
        return !COMMIT_UNKNOWN.equals(failure.getSQLState())
                && (failure instanceof SQLIntegrityConstraintViolationException
                        || failure instanceof SQLTransactionRollbackException
                        || stateIs(failure, RACES)
                        || isLocked(failure));
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return failure instanceof SQLTimeoutException || stateIs(failure, TIMED_OUT);
    }

    @Override
    public boolean isMissing(SQLException failure) {
        // Each database reports in its own way which word was wrong, so every syntax error is taken for a missing
        // table.
        return !isRefused(failure) && (failure instanceof SQLSyntaxErrorException || stateIs(failure, WRONG_WORDS));
    }

    @Override
    boolean isRefused(SQLException failure) {
        return failure instanceof SQLInvalidAuthorizationSpecException || stateIs(failure, NO_RIGHT);
    }

    @Override
    boolean isUndone(SQLException failure) {
        return false;
    }

    @Override
    String remedy(SQLException failure) {
        return "";
    }
}
