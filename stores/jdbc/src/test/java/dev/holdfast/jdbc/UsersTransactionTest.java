package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;

/** A store over a DataSource of the program's leaves the program's transactions alone, also one that is bound to the thread. */
class UsersTransactionTest extends Servers {

    private static final String CHANGES = "CREATE TABLE changes (what varchar(20))";
    private static final String CHANGE = "INSERT INTO changes VALUES ('of the user')";

    private HikariDataSource pool(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url.endsWith("?") ? url.substring(0, url.length() - 1) : url);
        return closing(new HikariDataSource(config));
    }

    /** Work on the caller's thread would get the connection of the transaction, and commit it by the change to autocommit. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void whatTheUserRollsBackIsRolledBack(String product) throws SQLException {
        DataSource pool = pool(url(product));
        DataSource aware = new TransactionAwareDataSourceProxy(pool);
        execute(pool, CHANGES);
        DataSourceTransactionManager transactions = new DataSourceTransactionManager(pool);
        TransactionStatus transaction = transactions.getTransaction(new DefaultTransactionDefinition());
        execute(aware, CHANGE);
        LockStore store = closing(JdbcLockStore.over(aware));
        Claim claim = alice.mutex(name);
        granted(store, claim);
        renewed(store, claim);
        transactions.rollback(transaction);
        assertThat(changes(pool)).isZero();
        busy(store, bob.mutex(name));
        assertThat(released(store, claim)).isTrue();
    }

    /** One connection for all, which is in a transaction while the lock is used. */
    @Test
    void connectionThatIsInATransactionIsRefused() throws SQLException {
        String url = url("postgresql");
        try (Connection only = DriverManager.getConnection(url)) {
            SingleConnectionDataSource shared = new SingleConnectionDataSource(only, true);
            LockStore store = closing(JdbcLockStore.over(shared));
            execute(shared, CHANGES);
            only.setAutoCommit(false);
            execute(shared, CHANGE);
            StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
            assertThat(failure).hasMessageContaining("is in a transaction of the program's");
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            only.rollback();
            only.setAutoCommit(true);
            assertThat(changes(shared)).isZero();
            granted(store, alice.mutex(name));
        }
    }

    @Test
    void numberOfConnectionsIsChecked() {
        DataSource pool = pool(url("h2"));
        for (String wrong : new String[] {"0", "65", "-1", "two", ""}) {
            assertThatThrownBy(() -> JdbcLockStore.over(pool, "connections=" + wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("connections must be 1 to 64")
                    .hasMessageContaining("\"" + wrong + "\"");
        }
    }

    private static void execute(DataSource database, String sql) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static int changes(DataSource database) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM changes")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
