package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

/** Stores on the servers of this JVM. */
public abstract class Servers extends StoreTest {

    /** The URL of empty tables on a server: {@code postgresql}, {@code mariadb}, {@code mysql} or {@code h2}. */
    public static String url(String product) {
        return switch (product) {
            case "postgresql" -> PostgresServer.shared().newSchema();
            case "serializable" -> url("postgresql") + "&options=-c%20default_transaction_isolation=serializable";
            case "mariadb" ->
                MariaDbServer.shared().mariaUrl(MariaDbServer.shared().newDatabase());
            case "mysql" ->
                MariaDbServer.shared().mysqlUrl(MariaDbServer.shared().newDatabase());
            default -> "jdbc:h2:mem:s" + System.nanoTime() + ";DB_CLOSE_DELAY=-1?";
        };
    }

    public final LockStore open(String url) {
        return closing(new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }

    /** A connection of a user's. */
    public static Connection connect(String url) throws SQLException {
        return DriverManager.getConnection(url.endsWith("?") ? url.substring(0, url.length() - 1) : url);
    }

    public static void run(String url, String... statements) {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
