package dev.holdfast.fence.jdbc;

import com.mysql.cj.jdbc.MysqlDataSource;
import dev.holdfast.jdbc.JdbcLockStoreProvider;
import dev.holdfast.jdbc.MariaDbServer;
import dev.holdfast.jdbc.MySqlServer;
import dev.holdfast.jdbc.PostgresServer;
import dev.holdfast.jdbc.SqliteLockStoreProvider;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.mariadb.jdbc.MariaDbDataSource;
import org.postgresql.ds.PGSimpleDataSource;
import org.sqlite.SQLiteDataSource;

/**
 * A database of the user's for a test, with tables of his own.
 *
 * @param url for the driver
 * @param storeUrl for a store of locks in the same database
 */
record UserDatabase(String product, String url, String storeUrl) {

    private static final AtomicInteger IN_MEMORY = new AtomicInteger();

    /** A new one. H2 is in memory, unless several processes shall share it. */
    static UserDatabase open(String product, Path folder) throws SQLException {
        return switch (product) {
            case "h2" -> of(product, "jdbc:h2:mem:user" + IN_MEMORY.incrementAndGet() + ";DB_CLOSE_DELAY=-1");
            case "h2-file" -> of("h2", "jdbc:h2:" + folder.resolve("user") + ";AUTO_SERVER=TRUE");
            case "sqlite" -> {
                Path file = folder.resolve("user.db");
                yield new UserDatabase(product, "jdbc:sqlite:" + file, "sqlite:" + file);
            }
            case "postgresql" -> of(product, PostgresServer.shared().newSchema());
            case "mariadb" -> {
                MariaDbServer server = MariaDbServer.shared();
                yield of(product, server.mariaUrl(server.newDatabase()));
            }
            // MySQL's driver, and its dialect; on a server of MariaDB, unless there is one of MySQL's.
            case "mysql" -> of(product, MySqlServer.newDatabase());
            default -> throw new IllegalArgumentException(product);
        };
    }

    private static UserDatabase of(String product, String url) {
        return new UserDatabase(product, url, url);
    }

    /** A store of locks in it. */
    LockStore store() {
        return storeUrl.startsWith("sqlite:")
                ? new SqliteLockStoreProvider().open(storeUrl, MonotonicClock.SYSTEM)
                : new JdbcLockStoreProvider().open(storeUrl, MonotonicClock.SYSTEM);
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(url);
    }

    /** A connection in a transaction. */
    Connection begin() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        return connection;
    }

    DataSource source() throws SQLException {
        switch (product) {
            case "h2" -> {
                JdbcDataSource source = new JdbcDataSource();
                source.setURL(url);
                return source;
            }
            case "sqlite" -> {
                SQLiteDataSource source = new SQLiteDataSource();
                source.setUrl(url);
                return source;
            }
            case "postgresql" -> {
                PGSimpleDataSource source = new PGSimpleDataSource();
                source.setURL(url);
                return source;
            }
            case "mariadb" -> {
                return new MariaDbDataSource(url);
            }
            default -> {
                MysqlDataSource source = new MysqlDataSource();
                source.setUrl(url);
                return source;
            }
        }
    }

    /** Statements in autocommit. */
    void run(String... statements) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** The one number that a query gives. */
    long number(String query) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Override
    public String toString() {
        return product;
    }
}
