package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.dialect.DistributedPostgresDialect;
import dev.holdfast.jdbc.dialect.PostgresProduct;
import dev.holdfast.jdbc.waiting.PostgresNotifier;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.testkit.RecordingListener;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * CockroachDB and YugabyteDB, for which PostgreSQL stands in with their version: which databases are told apart, what is not used in
 * them, and what their errors mean. Their servers were not run.
 */
class DistributedPostgresTest extends Servers {

    private final LockName name = new LockName("a");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "POSTGRESQL|PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc",
                "COCKROACHDB|CockroachDB CCL v26.1.0 (x86_64-pc-linux-gnu, built 2026/02/02 10:00:00, go1.25.5)",
                "COCKROACHDB|CockroachDB OSS v22.2.0 (x86_64-apple-darwin19, built 2022/11/30 12:00:00, go1.19.1)",
                "YUGABYTEDB|PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6",
                "YUGABYTEDB|PostgreSQL 15.12-YB-2025.2.0.0-b0 on aarch64-unknown-linux-gnu, compiled by clang"
            })
    void databasesAreToldApartByTheirVersion(PostgresProduct product, String version) {
        assertThat(PostgresProduct.of(version)).isEqualTo(product);
    }

    /** They have no notifications: to send one would fail with each hand-over, and to listen when the store is opened. */
    @ParameterizedTest
    @ValueSource(strings = {"cockroachdb", "yugabytedb"})
    void waitersPollAndNobodyNotifies(String product) throws SQLException {
        String url = url(product) + "&holdfast.ticketTtl=10m"; // no refresh shows the grant
        LockStore here = open(url);
        LockStore there = open(url);
        assertThat(here.traits().product()).isEqualTo(product);
        assertThat(here.traits().node()).isEqualTo(NodeRole.NONE);
        assertThat(here.traits().tokens()).isEqualTo(TokenSurvival.RESTART);
        Claim holder = alice.mutex(name).withLease(LONG);
        granted(here, holder);
        RecordingListener listener = waiting(there, bob.mutex(name).withLease(LONG));
        try (Connection connection = connect(url.replaceAll("&holdfast.*", ""));
                Statement statement = connection.createStatement()) {
            String channel = PostgresNotifier.channel(bob.mutex(name).id());
            statement.execute("LISTEN " + channel);
            get(here.release(holder));
            awaitGrant(listener);
            assertThat(PostgresNotifierTest.heard(connection, channel)).isEmpty();
        }
        assertThat(((RowLockStore) there).isNotified()).isFalse();
    }

    /** A pool of the user's shows the same driver, whose name for all of them is PostgreSQL. */
    @ParameterizedTest
    @ValueSource(strings = {"cockroachdb", "yugabytedb"})
    void theyAreToldApartOverADataSource(String product) {
        LockStore store = closing(JdbcLockStore.over(new DriverManagerDataSource(url(product))));
        assertThat(store.traits().product()).isEqualTo(product);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "cockroachdb,wakeup=notify,is for PostgreSQL",
        "cockroachdb,durability=relaxed,is for PostgreSQL",
        "yugabytedb,wakeup=notify,is for PostgreSQL",
        "cockroachdb,layout=insert&holdfast.theirTable=job,works in PostgreSQL"
    })
    void optionsForWhatTheyLackAreRefused(String product, String option, String why) {
        String url = url(product) + "&holdfast." + option;
        assertThatThrownBy(() -> open(url)).hasMessageContaining(why).hasMessageNotContaining("cannot be opened");
        assertThatThrownBy(() -> JdbcLockStore.over(
                        new DriverManagerDataSource(url.replaceAll("&holdfast.*", "")),
                        option.replace("holdfast.", "")))
                .hasMessageContaining(why);
    }

    @Test
    void serverThatCannotSkipLockedRowsIsRefused() {
        String url = reporting("CockroachDB CCL v22.1.22 (x86_64-pc-linux-gnu, built 2023/08/14, go1.17.11)");
        refused(url, "CockroachDB 22.2 or newer");
    }

    /** At that level YugabyteDB has no SKIP LOCKED: each release would fail. CockroachDB has, and it is its usual level. */
    @Test
    void levelAtWhichRowsCannotBeSkippedIsRefused() {
        String serializable = "&options=-c%20default_transaction_isolation=serializable";
        refused(url("yugabytedb") + serializable, "default_transaction_isolation");
        granted(open(url("cockroachdb") + serializable), alice.mutex(name));
    }

    private void refused(String url, String remedy) {
        assertThatThrownBy(() -> open(url))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.retryable()).isFalse())
                .hasMessageContaining(remedy);
    }

    /** A crash does not empty a table there, so the mark of a quorum's node would hide that grants were lost. */
    @Test
    void noTableOfAMarkIsMade() throws SQLException {
        String url = url("cockroachdb");
        run(url, "DROP TABLE IF EXISTS holdfast_node, holdfast_lock, holdfast_schema");
        granted(open(url), alice.mutex(name));
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT to_regclass('holdfast_node')")) {
            rows.next();
            assertThat(rows.getString(1)).isNull();
        }
    }

    /** What CockroachDB refuses in a column or behind a table; and YugabyteDB's key, in which the names are sorted. */
    @Test
    void tablesAreMadeWithoutWhatTheyLack() {
        assertThat(dialect(PostgresProduct.COCKROACHDB).ddl())
                .doesNotContain("COLLATE", "WITH", "UNLOGGED")
                .contains("PRIMARY KEY");
        assertThat(dialect(PostgresProduct.YUGABYTEDB).ddl())
                .doesNotContain("WITH", "UNLOGGED")
                .contains("COLLATE \"C\"", "PRIMARY KEY (name ASC)");
    }

    /** A serialization failure had no effect; of a commit without an answer nobody knows. */
    @ParameterizedTest
    @CsvSource({
        "40001,NONE",
        "40P01,NONE",
        "57014,NONE",
        "0A000,NONE",
        "40003,UNKNOWN",
        "XX000,UNKNOWN",
        "08006,UNKNOWN"
    })
    void errorsSayWhetherTheyHadAnEffect(String state, Effect effect) {
        for (PostgresProduct product :
                new PostgresProduct[] {PostgresProduct.COCKROACHDB, PostgresProduct.YUGABYTEDB}) {
            StoreException failure = dialect(product).failure(new SQLException("restart transaction", state));
            assertThat(failure.effect()).isEqualTo(effect);
            assertThat(failure.retryable()).isTrue();
        }
        assertThat(dialect(PostgresProduct.COCKROACHDB).isRace(new SQLException("", "40001")))
                .isTrue();
        assertThat(dialect(PostgresProduct.COCKROACHDB).isRace(new SQLException("", "40003")))
                .isFalse();
    }

    private static DistributedPostgresDialect dialect(PostgresProduct product) {
        return new DistributedPostgresDialect("jdbc:postgresql://db/app", product);
    }
}
