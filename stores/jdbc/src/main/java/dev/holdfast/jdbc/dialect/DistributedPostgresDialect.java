package dev.holdfast.jdbc.dialect;

import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * CockroachDB and YugabyteDB: many servers that look like one PostgreSQL, and take its statements. What they lack is not used:
 * notifications, tables that a crash empties, commits that do not wait for a disk, and limits of the wait for a row, instead of which
 * the driver gives a statement up after a second. Their conflicts are serialization failures, which are tried again as PostgreSQL's.
 *
 * <p>The time is that of the server that runs the statement. So the clocks of all servers must agree within the part of a lease
 * by which a client gives it up early.
 */
public final class DistributedPostgresDialect extends PostgresDialect {

    // CockroachDB compares texts byte by byte, and refuses to be told so for a column. Neither has pages to leave room
    // in.
    private static final String COLUMNS = """
            CREATE TABLE IF NOT EXISTS holdfast_lock (
              name text %s, version bigint NOT NULL, counter bigint NOT NULL,
              clock text NOT NULL, holder text NOT NULL, held bigint NOT NULL, permits integer NOT NULL,
              capacity integer NOT NULL, since bigint NOT NULL, expires bigint NOT NULL, owner text NOT NULL,
              more integer NOT NULL, others text NOT NULL%s
            )
            """;

    private static final String IN_COCKROACH = COLUMNS.formatted("NOT NULL PRIMARY KEY", "");

    // The key would be one of hashes, in which a walk in the order of the names had to sort them all.
    private static final String IN_YUGABYTE = COLUMNS.formatted("COLLATE \"C\" NOT NULL", ", PRIMARY KEY (name ASC)");

    private static final String CANCELLED = "57014";

    private final PostgresProduct product;

    public DistributedPostgresDialect(String url, PostgresProduct product) {
        super(url, false, true);
        this.product = product;
    }

    @Override
    public String product() {
        return product.label().toLowerCase(Locale.ROOT);
    }

    // YugabyteDB has no SKIP LOCKED in serializable transactions: each release would fail.
    @Override
    public void start(LockStatements statements) throws SQLException {
        if (product == PostgresProduct.YUGABYTEDB
                && statements.query(
                        "SHOW transaction_isolation",
                        statement -> {},
                        rows -> rows.next() && "serializable".equals(rows.getString(1)))) {
            throw StoreException.refused(
                    url()
                            + " is YugabyteDB with default_transaction_isolation=serializable, at which it cannot skip locked rows."
                            + " Set another level for this user or in the URL, as with"
                            + " options=-c%20default_transaction_isolation=read%5C%20committed",
                    null);
        }
    }

    @Override
    public List<String> createTables() {
        String lock = product == PostgresProduct.YUGABYTEDB ? IN_YUGABYTE : IN_COCKROACH;
        return List.of(lock, CREATE_SCHEMA, TableSchema.INSERT_VERSION);
    }

    // What it costs was not measured there.
    @Override
    boolean updatesKnownRows() {
        return false;
    }

    // A table that survives the loss of grants would hide it.
    @Override
    public @Nullable String createNodeTable() {
        return null;
    }

    @Override
    public boolean canBeNode() {
        return false;
    }

    // No commit waits for a standby there.
    @Override
    String durability() {
        return "''";
    }

    // Their servers agree on each commit before anybody can read it.
    @Override
    public String confirmation() {
        return "";
    }

    @Override
    public void confirm(LockStatements statements, Collection<LockName> names) {}

    @Override
    public boolean canNotify() {
        return false;
    }

    // Waits for a row, and what a statement reads after one, were not tried there.
    @Override
    public boolean hasQueueStatements() {
        return false;
    }

    // Waits in transactions of several tables were not tried there.
    @Override
    public boolean canAdopt() {
        return false;
    }

    // The server that is asked next may be behind the one before.
    @Override
    public TokenSurvival tokens() {
        return TokenSurvival.RESTART;
    }

    @Override
    public int queryTimeoutSeconds() {
        return 1;
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return super.isLocked(failure) || CANCELLED.equals(failure.getSQLState());
    }
}
