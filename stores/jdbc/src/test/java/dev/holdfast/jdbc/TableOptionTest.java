package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** The option {@code table}: the locks are kept in a table of another name. */
class TableOptionTest extends Servers {

    private static String separator(String url) {
        return url.contains("?") ? "&" : "?";
    }

    private static String withTable(String url, String table) {
        return url + separator(url) + "holdfast.table=" + table;
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2", "sql"})
    void allThatIsDoneIsDoneInThatTable(String product) throws SQLException {
        String url = url(product);
        String generic = "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)";
        String options = product.equals("sql") ? "&holdfast.clock=" + generic : "";
        LockStore store = open(withTable(url, "app_lock") + options);
        exercise(store);
        assertThat(rows(url, "app_lock")).isPositive();
        assertThat(rows(url, "app_lock_schema")).isEqualTo(1);
        assertThatThrownBy(() -> rows(url, "holdfast_lock")).isInstanceOf(SQLException.class);

        LockStore another = open(withTable(url, "other_lock") + options);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        granted(another, bob.mutex(name));
        LockStore same = open(withTable(url, "app_lock") + options + "&holdfast.schema=check");
        busy(same, bob.mutex(name));
    }

    // Each kind of statement once: the one-statement paths, a transition, and a queue.
    private void exercise(LockStore store) {
        Claim first = alice.mutex(name);
        granted(store, first);
        assertThat(renewed(store, first)).isInstanceOf(Granted.class);
        busy(store, bob.mutex(name));
        assertThat(get(store.list("", 10))).containsExactly(name);
        assertThat(holders(store, name)).hasSize(1);
        assertThat(released(store, first)).isTrue();
        assertThat(released(store, first.again())).isFalse();
        Claim reader = alice.read(name);
        granted(store, reader);
        Claim another = bob.read(name);
        granted(store, another);
        assertThat(renewed(store, reader)).isInstanceOf(Granted.class);
        assertThat(released(store, reader)).isTrue();
        assertThat(released(store, another)).isTrue();
    }

    @Test
    void overADataSource() throws SQLException {
        for (String product : List.of("postgresql", "mariadb", "h2")) {
            String url = url(product);
            String plain = url.endsWith("?") ? url.substring(0, url.length() - 1) : url;
            exercise(closing(JdbcLockStore.over(new DriverManagerDataSource(plain), "table=app_lock")));
            assertThat(rows(url, "app_lock")).as(product).isPositive();
        }
    }

    @Test
    void anotherSchemaOrDatabase() throws SQLException {
        String postgres = url("postgresql");
        run(postgres, "CREATE SCHEMA locks_of_app");
        exercise(open(withTable(postgres, "locks_of_app.\"App-Locks\"")));
        assertThat(rows(postgres, "locks_of_app.\"App-Locks\"")).isPositive();
        assertThat(rows(postgres, "locks_of_app.\"App-Locks_schema\"")).isEqualTo(1);

        String database = MariaDbServer.shared().newDatabase();
        for (String product : List.of("mariadb", "mysql")) {
            String url = url(product);
            exercise(open(withTable(url, database + ".lock_" + product)));
            assertThat(rows(url, database + ".lock_" + product)).isPositive();
        }
        // The second table of the usual name has its usual name, too.
        open(withTable(url("mariadb"), database + ".holdfast_lock"));
        open(MariaDbServer.shared().mariaUrl(database) + "&holdfast.schema=check");
    }

    @Test
    void sqlite(@TempDir Path folder) {
        String file = "sqlite:" + folder.resolve("locks.db");
        LockStore store = closing(new SqliteLockStoreProvider().open(file + "?table=app_lock", MonotonicClock.SYSTEM));
        exercise(store);
        granted(store, alice.mutex(name));
        granted(closing(new SqliteLockStoreProvider().open(file, MonotonicClock.SYSTEM)), bob.mutex(name));
    }

    @Test
    void theErrorAboutAWrongTableNamesIt() {
        String url = url("h2");
        run(url, "CREATE TABLE app_lock (name VARCHAR(9))");
        assertThatThrownBy(() -> open(withTable(url, "app_lock")))
                .hasMessageContaining("app_lock")
                .hasMessageNotContaining("holdfast_lock");
    }

    @Test
    void ddlHasTheNames() {
        String url = "jdbc:postgresql://db/app?holdfast.table=locks.app_lock";
        assertThat(JdbcLockStore.ddl(url))
                .contains("CREATE TABLE IF NOT EXISTS locks.app_lock (")
                .contains("CREATE TABLE IF NOT EXISTS locks.app_lock_schema (")
                .doesNotContain("holdfast");
        assertThat(JdbcLockStore.ddl("jdbc:h2:mem:a?holdfast.table=app_lock")).doesNotContain("holdfast");
        // Where names ignore case, this is the usual table, and so its companion is the usual one, too.
        assertThat(JdbcLockStore.ddl("jdbc:postgresql://db/app?holdfast.table=HOLDFAST_LOCK"))
                .contains("CREATE TABLE IF NOT EXISTS holdfast_schema (");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a b",
                "lock;DROP TABLE users",
                "x--",
                "a.b.c.d",
                "\"a'b\"",
                "\"a\"b\"",
                "1st",
                "lock(name)",
                "temp.app_lock",
                "TEMP.app_lock",
                "pg_temp.app_lock",
                "pg_temp_3.app_lock",
                "a23456789_123456789_123456789_123456789_123456789_1234567"
            })
    void namesThatAreNoneAreRefusedBeforeAnythingIsSent(String table) {
        assertThatThrownBy(() -> open("jdbc:postgresql://127.0.0.1:1/none?holdfast.table=" + table))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ption table");
    }

    private static long rows(String url, String table) throws SQLException {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
            rows.next();
            return rows.getLong(1);
        }
    }
}
