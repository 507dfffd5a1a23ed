package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.ds.PGSimpleDataSource;

/** PostgreSQL as one node of a quorum: it never passes for one that has kept its data if it may have lost some. */
class PostgresNodeTest extends Servers {

    private static final String A_DAY_AGO = "UPDATE holdfast_node SET since = since - 86400000000";

    private NodeAttempt asked(LockStore store) {
        NodeAttempt attempt =
                get(store.tryAcquireAsNode(alice.mutex(new LockName("test-" + UUID.randomUUID())), 1, false));
        assertThat(attempt.attempt()).isInstanceOf(Granted.class);
        return attempt;
    }

    /** Asks a server whose client may find its connections closed. */
    private NodeAttempt askedWhenItIsBack(LockStore store) {
        return repaired(() -> asked(store));
    }

    /** A node that has kept its data for a day, by its mark. */
    private NodeAttempt old(LockStore store, String url) {
        asked(store);
        run(url, A_DAY_AGO);
        NodeAttempt old = asked(store);
        assertThat(old.age()).hasHours(24);
        assertThat(asked(open(url)).incarnation())
                .as("as another client sees it")
                .isEqualTo(old.incarnation());
        return old;
    }

    private static void lostItsAge(NodeAttempt old, NodeAttempt after) {
        assertThat(after.incarnation()).isGreaterThan(old.incarnation());
        assertThat(after.age()).isLessThan(old.age().dividedBy(2));
    }

    @Test
    void otherDatabasesAreNoNodes() {
        assertThat(open(url("postgresql")).traits().node()).isEqualTo(NodeRole.BLOCKING);
        LockStore h2 = open(url("h2"));
        assertThat(h2.traits().node()).isEqualTo(NodeRole.NONE);
        assertThatThrownBy(() -> h2.tryAcquireAsNode(alice.mutex(name), 1, false))
                .isInstanceOf(UnsupportedOperationException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"full", "relaxed"})
    void eachStartAndEachCrashIsNoticed(String durability) {
        PostgresServer server = closing(PostgresServer.start());
        String url = server.newSchema();
        LockStore store = open(url + "&holdfast.durability=" + durability);
        NodeAttempt old = old(store, url);

        // The server goes on with new processes, on the same data and with the same time of its start.
        String started = server.text("SELECT pg_postmaster_start_time()::text");
        server.crashProcesses();
        lostItsAge(old, askedWhenItIsBack(store));
        assertThat(server.text("SELECT pg_postmaster_start_time()::text")).isEqualTo(started);

        old = old(store, url);
        server.stop();
        server.copyData("older");
        server.startAgain();
        lostItsAge(old, askedWhenItIsBack(store));

        old = old(store, url);
        server.kill();
        server.startAgain();
        lostItsAge(old, askedWhenItIsBack(store));

        // The copy has all that was there when the server was stopped, its old mark, too.
        old = old(store, url);
        server.stop();
        server.restoreData("older");
        server.startAgain();
        NodeAttempt restored = askedWhenItIsBack(store);
        assertThat(restored.age()).isLessThan(old.age().dividedBy(2));
        assertThat(restored.incarnation()).isNotEqualTo(old.incarnation());
    }

    @Test
    void replicaGrantsNothingBeforeItsPromotionAndIsNewAfterIt() {
        PostgresServer primary = closing(PostgresServer.start());
        String url = primary.newSchema();
        NodeAttempt old = old(open(url), url);
        PostgresServer replica = closing(primary.startReplica());
        LockStore store = open(replica.url(url.replaceAll(".*currentSchema=", "")));
        StoreException failure = failure(store.tryAcquireAsNode(alice.mutex(name), 1, false));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        replica.promote();
        lostItsAge(old, askedWhenItIsBack(store));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "TRUNCATE holdfast_lock",
                "TRUNCATE holdfast_node",
                "DELETE FROM holdfast_node",
                "UPDATE holdfast_node SET server = 'something else'",
                "CREATE TABLE copied (LIKE holdfast_lock INCLUDING ALL); DROP TABLE holdfast_lock;"
                        + " ALTER TABLE copied RENAME TO holdfast_lock"
            })
    void replacedTableIsNoticed(String change) {
        String url = url("postgresql");
        LockStore store = open(url);
        NodeAttempt old = old(store, url);
        run(url, change);
        lostItsAge(old, repaired(() -> asked(store)));
    }

    @Test
    void copyOfTheDatabaseIsNoticed() {
        PostgresServer server = PostgresServer.shared();
        String one = "node" + System.nanoTime();
        server.run("public", "CREATE DATABASE " + one);
        String url = server.url("public").replace("/postgres?", "/" + one + "?");
        // A database to which somebody is connected cannot be copied.
        try (LockStore store = new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM)) {
            asked(store);
            run(url, A_DAY_AGO);
            assertThat(asked(store).age()).hasHours(24);
        }
        server.run("public", "CREATE DATABASE " + one + "b TEMPLATE " + one);
        NodeAttempt copied = asked(open(url.replace(one, one + "b")));
        assertThat(copied.age()).hasHours(0);
    }

    @Test
    void tableThatSurvivesACrashIsRefused() {
        String url = url("postgresql");
        LockStore store = open(url);
        asked(store);
        run(url, "ALTER TABLE holdfast_node SET LOGGED");
        StoreException failure = failure(store.tryAcquireAsNode(alice.mutex(name), 1, false));
        assertThat(failure).hasMessageContaining("holdfast_node").hasMessageContaining("UNLOGGED");
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(holders(store, name)).isEmpty();
    }

    /** Meanwhile a crash would not have emptied it. */
    @Test
    void tableThatOnceSurvivedCrashesIsNoticed() {
        String url = url("postgresql");
        LockStore store = open(url);
        NodeAttempt old = old(store, url);
        run(url, "ALTER TABLE holdfast_node SET LOGGED", "ALTER TABLE holdfast_node SET UNLOGGED");
        lostItsAge(old, repaired(() -> asked(store)));
    }

    /** The rows are in other tables, of which the mark says nothing. */
    @Test
    void partitionedTableIsRefused() {
        String url = url("postgresql");
        LockStore store = open(url);
        run(
                url,
                "ALTER TABLE holdfast_lock RENAME TO plain",
                "CREATE TABLE holdfast_lock (LIKE plain INCLUDING ALL) PARTITION BY HASH (name)",
                "CREATE TABLE part PARTITION OF holdfast_lock FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
        assertThat(refusal(store)).hasMessageContaining("holdfast_lock").hasMessageContaining("partitioned");
    }

    /** Clients with other lock tables and the same node table would rewrite its row in turn. */
    @Test
    void tableInAnotherSchemaThanTheLocksIsRefused() {
        String url = url("postgresql");
        String other = url("postgresql").replaceAll(".*currentSchema=", "");
        String both = url + "," + other;
        LockStore store = open(both);
        asked(store);
        run(url, "ALTER TABLE holdfast_node SET SCHEMA " + other);
        assertThat(refusal(store)).hasMessageContaining("holdfast_node").hasMessageContaining("same schema");
        assertThat(refusal(open(both))).as("opened again").hasMessageContaining("same schema");
    }

    /** As of a database that an earlier version has made: it is made when a store may, and an error names it if not. */
    @Test
    void missingTableIsMadeWhereThatIsAllowed() {
        String url = url("postgresql");
        granted(open(url), alice.mutex(name));
        run(url, "DROP TABLE holdfast_node");
        LockStore checked = open(url + "&holdfast.schema=check");
        assertThat(refusal(checked))
                .hasMessageContaining("Table holdfast_node is missing")
                .hasMessageContaining("holdfast schema --store")
                .hasMessageNotContaining("drop");
        asked(open(url));
        asked(checked);
        assertThat(holders(checked, name)).as("the locks are kept").hasSize(1);
    }

    /** Those who use no quorum do not need the table. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void storeIsOpenedIfTheTableCannotBeMade(boolean tablesAreThere) {
        String url = url("postgresql");
        if (tablesAreThere) {
            open(url);
            run(url, "DROP TABLE holdfast_node");
        }
        // The name is taken by something that is no table, so the server refuses to make it.
        run(url, "CREATE DOMAIN holdfast_node AS integer");
        LockStore store = open(url);
        granted(store, alice.mutex(name));
        assertThat(refusal(store)).hasMessageContaining("holdfast_node");
    }

    private StoreException refusal(LockStore store) {
        StoreException failure =
                failure(store.tryAcquireAsNode(alice.mutex(new LockName("test-" + UUID.randomUUID())), 1, false));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isFalse();
        return failure;
    }

    @Test
    void severalServersAreNoNode() {
        String url = url("postgresql").replaceFirst("//([^/]*)/", "//$1,$1/");
        assertThat(open(url).traits().node()).isEqualTo(NodeRole.NONE);
        PGSimpleDataSource pool = new PGSimpleDataSource();
        pool.setUrl(url);
        assertThat(closing(JdbcLockStore.over(pool, "")).traits().node()).isEqualTo(NodeRole.NONE);
        pool.setUrl(url("postgresql"));
        assertThat(closing(JdbcLockStore.over(pool, "")).traits().node()).isEqualTo(NodeRole.BLOCKING);
    }

    @Test
    void clockThatWasSetBackGivesNoNegativeAge() {
        String url = url("postgresql");
        LockStore store = open(url);
        asked(store);
        run(url, "UPDATE holdfast_node SET since = since + 86400000000");
        assertThat(asked(store).age()).isZero();
    }

    /** The row of the lock is locked by somebody: nobody knows whether the claim is there, so the answer is not "busy". */
    @Test
    void rowThatIsLockedIsNoAnswer() throws Exception {
        String url = url("postgresql");
        LockStore store = open(url);
        Claim claim = alice.mutex(name);
        get(store.tryAcquireAsNode(claim, 1, false));
        try (var other = connect(url);
                var statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute("SELECT * FROM holdfast_lock FOR UPDATE");
            StoreException failure = failure(store.tryAcquireAsNode(claim, Long.MAX_VALUE / 2, true));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
        }
    }

    @Test
    void markIsNoLock() {
        LockStore store = open(url("postgresql"));
        granted(store, alice.mutex(name));
        asked(store);
        assertThat(get(store.list("", 10))).hasSize(2);
    }

    @Test
    void tablesOfOtherNamesHaveAMarkOfTheirOwn() {
        String url = url("postgresql");
        LockStore store = open(url + "&holdfast.table=app_lock");
        NodeAttempt first = asked(store);
        run(url, "UPDATE app_lock_node SET since = since - 86400000000");
        assertThat(asked(store).age()).hasHours(24);
        assertThat(asked(open(url)).incarnation()).isGreaterThan(first.incarnation());
    }

    @Test
    void severalClientsBeginTogether() {
        String url = url("postgresql");
        List<LockStore> stores = List.of(open(url), open(url), open(url));
        List<Long> seen = stores.parallelStream()
                .map(store -> repaired(() -> asked(store)).incarnation())
                .distinct()
                .toList();
        assertThat(seen).hasSize(1);
    }
}
