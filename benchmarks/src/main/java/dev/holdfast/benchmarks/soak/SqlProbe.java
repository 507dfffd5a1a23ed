package dev.holdfast.benchmarks.soak;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** Databases: rows of idle locks stay, by their option {@code keep}. A transaction that is open, or a lock of its own, is a leak. */
final class SqlProbe implements Probe {

    private static final String ROWS = "SELECT count(*) FROM holdfast_lock";

    private final String url;
    private final String open;

    private SqlProbe(String url, String open) {
        this.url = url;
        this.open = open;
    }

    static SqlProbe postgres(String url) {
        return new SqlProbe(
                url,
                "SELECT (SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%')"
                        + " + (SELECT count(*) FROM pg_prepared_xacts)"
                        + " + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')");
    }

    static SqlProbe mariadb(String url) {
        return new SqlProbe(url, "SELECT count(*) FROM information_schema.innodb_trx");
    }

    static SqlProbe sqlite(String url) {
        return new SqlProbe(url, "SELECT 0");
    }

    @Override
    public long entries() {
        return number(ROWS);
    }

    @Override
    public List<String> residue() {
        long transactions = number(open);
        return transactions == 0 ? List.of() : List.of(transactions + " open transactions, or locks of theirs");
    }

    private long number(String sql) {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException failed) {
            throw new IllegalStateException(sql, failed);
        }
    }
}
