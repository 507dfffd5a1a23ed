package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The common part of the dialects of database servers: the database's wall clock as microseconds since 1970, and
 * errors by their SQLSTATE.
 */
public abstract class ServerDialect extends PooledDialect {

    /**
     * How long a client may do nothing in the midst of a transaction of several rows before the server ends it. Until then
     * the rows are locked. It is far longer than the pause between two statements of a client that lives.
     */
    static final Duration MOST_IDLE = Duration.ofSeconds(5);

    /** The standard's state of a transaction of which nobody knows whether it was committed. */
    static final String UNKNOWN_OUTCOME = "08007";

    private static final String CLOCK = "utc";

    private final String url;

    /** @param url the database, for messages; without a password */
    ServerDialect(String url) {
        this.url = url;
    }

    /** The statements that create the tables, as a script for a person to run. */
    public final String ddl() {
        List<String> statements = new ArrayList<>(createTables());
        String node = createNodeTable();
        if (node != null && tables().hasNode()) {
            statements.add(node);
        }
        return sql(script(statements));
    }

    static String script(List<String> statements) {
        return String.join(";\n\n", statements.stream().map(String::strip).toList()) + ";\n";
    }

    final String url() {
        return url;
    }

    @Override
    public String clock() {
        return CLOCK;
    }

    @Override
    public String epoch() {
        return now();
    }

    /** Whether a retry would fail in the same way. */
    abstract boolean isRefused(SQLException failure);

    /** Whether the server reported that the statement had no effect. */
    abstract boolean isUndone(SQLException failure);

    /** The remedy for a failure, which is appended to its message; may be empty. */
    abstract String remedy(SQLException failure);

    @Override
    public StoreException failure(SQLException failure) {
        String what = url + ": " + withCause(failure) + remedy(failure);
        if (isMissing(failure)) {
            return TableSchema.wrong(tables(), url, String.valueOf(failure.getMessage()), failure);
        }
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql && isRefused(sql)) {
                return StoreException.refused(what, failure);
            }
        }
        boolean without = isRace(failure) || isLocked(failure) || isUndone(failure);
        return StoreException.unavailable(without ? Effect.NONE : Effect.UNKNOWN, what, failure);
    }

    static boolean stateIs(SQLException failure, List<String> beginnings) {
        String state = failure.getSQLState();
        return state != null && beginnings.stream().anyMatch(state::startsWith);
    }

    /** Sets the parameters of the statement that takes a free lock whose row exists. */
    void bindTake(PreparedStatement statement, Claim claim) throws SQLException {
        statement.setString(1, clock());
        statement.setString(2, claim.id().toString());
        statement.setInt(3, claim.permits());
        statement.setInt(4, claim.limit());
        statement.setLong(5, RowCodec.micros(claim.lease()));
        statement.setString(6, RowCodec.owner(claim));
        bindName(statement, 7, claim.name().value());
        statement.setString(8, clock());
    }
}
