package dev.holdfast.jdbc.connection;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.spi.MonotonicClock;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import javax.sql.DataSource;

/**
 * A pool of as many connections as the store has lanes, so that no lane ever waits for another. The pool opens, checks and
 * replaces them.
 */
public final class ConnectionPool implements ConnectionSource {

    /** One for work, one for renewals, one for polls. */
    private static final int LANES = 3;

    /** A pool refuses a shorter time. */
    private static final long LEAST_TIMEOUT_MILLIS = 250;

    private final HikariDataSource pool;
    private final String url;
    private final long timeoutNanos;

    /**
     * @param database where connections come from
     * @param prepares what is run on each new connection
     * @param url what is connected to, for messages
     */
    public ConnectionPool(DataSource database, String prepares, String url, Duration timeout, String name) {
        this(config(database, prepares), LANES, url, timeout, name);
    }

    /**
     * @param database what the driver connects to
     * @param properties what the driver is told beside the URL
     * @param lanes how many connections there are at most
     */
    public ConnectionPool(DatabaseUrl database, Properties properties, int lanes, Duration timeout, String name) {
        this(config(database, properties), lanes, database.shown(), timeout, name);
    }

    private ConnectionPool(HikariConfig config, int lanes, String url, Duration timeout, String name) {
        this.url = url;
        this.timeoutNanos = timeout.toNanos();
        config.setPoolName(name);
        config.setMaximumPoolSize(lanes);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(Math.max(LEAST_TIMEOUT_MILLIS, timeout.toMillis()));
        config.setInitializationFailTimeout(-1);
        this.pool = new HikariDataSource(config);
    }

    private static HikariConfig config(DataSource database, String prepares) {
        HikariConfig config = new HikariConfig();
        config.setDataSource(database);
        config.setConnectionInitSql(prepares);
        return config;
    }

    private static HikariConfig config(DatabaseUrl database, Properties properties) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(database.url());
        if (database.wantsReadCommitted()) {
            config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
        }
        config.setDataSourceProperties(properties);
        return config;
    }

    // The pool lets an interrupt end its wait; a call of ours is not ended by one, and the flag is kept.
    @Override
    public Connection open() throws SQLException {
        boolean interrupted = false;
        long start = MonotonicClock.SYSTEM.nanoTime();
        try {
            while (true) {
                try {
                    return pool.getConnection();
                } catch (SQLException failure) {
                    boolean again = failure.getCause() instanceof InterruptedException
                            && MonotonicClock.SYSTEM.nanoTime() - start < timeoutNanos;
                    if (!again) {
                        throw failure;
                    }
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public boolean keep() {
        return false;
    }

    @Override
    public void close() {
        pool.close();
    }

    @Override
    public String toString() {
        return url;
    }
}
