package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Stores on the servers of this JVM. CockroachDB and YugabyteDB are not among these: PostgreSQL stands in for them, with a {@code
 * version()} of the test's, which comes before that of the server.
 */
public abstract class Servers extends StoreTest {

    /** The URL of empty tables on a server: {@code postgresql}, {@code cockroachdb}, {@code mariadb}, {@code mysql} or {@code h2}. */
    public static String url(String product) {
        return switch (product) {
            case "postgresql" -> PostgresServer.shared().newSchema();
            case "serializable" -> url("postgresql") + "&options=-c%20default_transaction_isolation=serializable";
            case "cockroachdb" ->
                reporting("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)");
            case "yugabytedb" -> reporting("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang");
            case "mariadb" ->
                MariaDbServer.shared().mariaUrl(MariaDbServer.shared().newDatabase());
            case "mysql" -> MySqlServer.newDatabase();
            default -> loaded("jdbc:h2:mem:s" + System.nanoTime() + ";DB_CLOSE_DELAY=-1?");
        };
    }

    /** A URL whose driver is loaded: else that is part of the time in which a store has to reach the server. */
    static String loaded(String url) {
        run(url);
        return url;
    }

    /** The URL of a schema of PostgreSQL that has our tables, and reports this version. */
    static String reporting(String version) {
        String url = PostgresServer.shared().newSchema();
        run(
                url,
                "CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ SELECT '" + version + "' $$",
                JdbcLockStore.ddl(url));
        return url + ",pg_catalog";
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
