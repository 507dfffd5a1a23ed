package dev.holdfast.jdbc.connection;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import dev.holdfast.spi.MonotonicClock;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * A pool with one connection for each {@link SerialConnection} of the store, so that none of them ever waits for
 * another. The pool opens the connections, closes those that nobody has used for ten minutes, and checks one that lay there for half
 * a second before it is used again: that is a message to the server and back. How old a connection may become, another setting of the
 * pool, does not count for one that is kept.
 */
public final class ConnectionPool implements ConnectionSource {

    /** The shortest connection timeout that HikariCP accepts. */
    private static final long LEAST_TIMEOUT_MILLIS = 250;

    private final HikariDataSource pool;
    private final String url;
    private final long timeoutNanos;
    /** The limit that a driver does not get by its properties; 0 for those that do. */
    private final int networkMillis;

    private final AtomicInteger discards = new AtomicInteger();
    private final AtomicInteger breaks = new AtomicInteger();

    /**
     * @param database the source of connections
     * @param prepares a SQL statement that is run on each new connection
     * @param maxConnections how many connections there are at most
     * @param url the database, for messages
     */
    public ConnectionPool(
            DataSource database, String prepares, int maxConnections, String url, Duration timeout, String name) {
        this(config(database, prepares), maxConnections, url, timeout, 0, name);
    }

    /**
     * @param database what the driver connects to
     * @param properties settings of the driver that are not in the URL
     * @param maxConnections how many connections there are at most
     */
    public ConnectionPool(
            DatabaseUrl database,
            Properties properties,
            int maxConnections,
            Duration timeout,
            Duration statementTimeout,
            String name) {
        this(
                config(database, properties),
                maxConnections,
                database.shown(),
                timeout,
                database.isOfKnownDriver() ? 0 : Math.toIntExact(statementTimeout.toMillis()),
                name);
    }

    private ConnectionPool(
            HikariConfig config, int maxConnections, String url, Duration timeout, int networkMillis, String name) {
        this.url = url;
        this.networkMillis = networkMillis;
        this.timeoutNanos = timeout.toNanos();
        config.setPoolName(name);
        config.setMaximumPoolSize(maxConnections);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(Math.max(LEAST_TIMEOUT_MILLIS, timeout.toMillis()));
        // A connection that a dead server has left idle must not use up the time in which another one can be opened.
        config.setValidationTimeout(
                Math.max(LEAST_TIMEOUT_MILLIS, timeout.dividedBy(2).toMillis()));
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
        database.requireDriver();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(database.url());
        if (database.wantsReadCommitted()) {
            config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
        }
        config.setDataSourceProperties(properties);
        return config;
    }

    // The pool ends its wait when the thread is interrupted. Our calls do not end then, so this waits again and
    // restores the interrupt flag at the end.
    @Override
    public Connection open() throws SQLException {
        boolean interrupted = false;
        long start = MonotonicClock.SYSTEM.nanoTime();
        try {
            while (true) {
                try {
                    return limited(pool.getConnection());
                } catch (SQLException failure) {
                    boolean again = failure.getCause() instanceof InterruptedException
                            && MonotonicClock.SYSTEM.nanoTime() - start < timeoutNanos;
                    if (!again) {
                        throw failure;
                    }
                    // The pool has set the flag again, with which the next wait would end at once.
                    interrupted = Thread.interrupted() || interrupted;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    // The pool takes the limit back when it gets the connection.
    private Connection limited(Connection connection) throws SQLException {
        boolean ready = false;
        try {
            if (networkMillis > 0) {
                NetworkTimeout.limit(connection, networkMillis);
            }
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                connection.close();
            }
        }
    }

    @Override
    public void discard(Connection connection) {
        pool.evictConnection(connection);
    }

    // Those of the others that are in use are closed when they come back. They are counted when all are marked,
    // since whoever sees the count gives his own back.
    @Override
    public void discardAll(Connection connection, int discardsBefore) {
        discard(connection);
        HikariPoolMXBean others = pool.getHikariPoolMXBean();
        if (others != null && discards.get() == discardsBefore) {
            others.softEvictConnections();
            discards.compareAndSet(discardsBefore, discardsBefore + 1);
        }
    }

    @Override
    public int discards() {
        return discards.get();
    }

    @Override
    public void broke() {
        breaks.incrementAndGet();
    }

    @Override
    public int breaks() {
        return breaks.get();
    }

    @Override
    public Use use() {
        return Use.WHILE_BUSY;
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
