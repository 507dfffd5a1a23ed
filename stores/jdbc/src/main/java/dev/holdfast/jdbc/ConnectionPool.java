package dev.holdfast.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * A pool of as many connections as the store has lanes, so that no lane ever waits for another. The pool opens, checks and
 * replaces them.
 */
final class ConnectionPool implements ConnectionSource {

    /** One for work, one for renewals and polls. */
    private static final int LANES = 2;

    private final HikariDataSource pool;
    private final String url;

    /**
     * @param database where connections come from
     * @param url what is connected to, for messages
     */
    ConnectionPool(DataSource database, String url, Duration timeout, String name) {
        this.url = url;
        HikariConfig config = new HikariConfig();
        config.setDataSource(database);
        config.setPoolName(name);
        config.setMaximumPoolSize(LANES);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(Math.max(250, timeout.toMillis()));
        config.setInitializationFailTimeout(-1);
        this.pool = new HikariDataSource(config);
    }

    @Override
    public Connection open() throws SQLException {
        return pool.getConnection();
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
