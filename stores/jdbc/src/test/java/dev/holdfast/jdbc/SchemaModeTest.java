package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tables made by hand, and stores over the user's own pool. */
class SchemaModeTest extends Servers {

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void tablesMayBeMadeByHand(String product) {
        String url = url(product);
        assertThatThrownBy(() -> open(url + "&holdfast.schema=check"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("schema=check")
                .hasMessageContaining("holdfast schema --store");
        LockStore early = open(url + "&holdfast.schema=none");
        Claim claim = alice.mutex(new LockName("a"));
        assertThat(failure(early.tryAcquire(claim))).hasMessageContaining("holdfast_lock");
        run(url, JdbcLockStore.ddl(url).split(";\\s*\\n"));
        granted(early, claim);
        assertThat(renewed(open(url + "&holdfast.schema=check"), claim)).isInstanceOf(Granted.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void aPoolOfTheUsersIsLeftAsItWas(String product) throws SQLException {
        String url = url(product);
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url.endsWith("?") ? url.substring(0, url.length() - 1) : url);
        config.setMaximumPoolSize(3);
        HikariDataSource pool = closing(new HikariDataSource(config));
        LockStore store = JdbcLockStore.over(pool, "connections=1&ticketTtl=2s");
        Claim claim = alice.mutex(new LockName("a"));
        granted(store, claim);
        waiting(store, bob.mutex(claim.name()));
        assertThat(get(store.renew(List.of(claim))).get(0)).isInstanceOf(Granted.class);
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
        store.close();
        assertThat(pool.isClosed()).isFalse();
        // A thread of the store that is at work gives its connection back when it notices.
        awaitUntil(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0, "connections are kept");
    }

    /** A statement makes settings for itself only: behind a pooler another client gets the session next. */
    @Test
    void sessionsOfPostgresAreLeftAsTheyWere() throws SQLException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url("postgresql"));
        config.setMaximumPoolSize(1);
        config.setAutoCommit(false);
        HikariDataSource pool = closing(new HikariDataSource(config));
        LockStore store = closing(JdbcLockStore.over(pool, "connections=1&durability=relaxed&wakeup=poll"));
        for (int i = 0; i < 20; i++) {
            Claim claim = alice.mutex(new LockName("a"));
            granted(store, claim);
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
            get(store.tryAcquireAll(List.of(alice.mutex(new LockName("b")), alice.mutex(new LockName("c")))));
            get(store.release(claim));
        }
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            assertThat(connection.getAutoCommit()).isFalse();
            assertThat(connection.getNetworkTimeout()).isZero();
            assertThat(shown(statement, "lock_timeout")).isEqualTo("0");
            assertThat(shown(statement, "synchronous_commit")).isEqualTo("on");
        }
    }

    private static String shown(Statement statement, String setting) throws SQLException {
        try (ResultSet rows = statement.executeQuery("SHOW " + setting)) {
            rows.next();
            return rows.getString(1);
        }
    }
}
