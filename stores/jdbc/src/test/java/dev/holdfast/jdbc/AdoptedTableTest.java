package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Locks that are shared with programs that keep them in a table of their own. */
class AdoptedTableTest extends Servers {

    private static final String LOCK = "close-month";

    private final Claim claim = alice.mutex(new LockName(LOCK));
    private String url;
    private LockStore store;
    private ClassicProgram theirs;

    private void open(String product, String layout) throws SQLException {
        url = url(product);
        String options = ClassicProgram.makeTable(url, layout);
        theirs = closing(new ClassicProgram(url, layout));
        theirs.introduce(LOCK);
        store = open(url + options);
        url += options;
    }

    @ParameterizedTest
    @CsvSource({"h2,insert", "h2,flag", "postgresql,insert", "postgresql,flag", "mariadb,insert", "mariadb,flag"})
    void theirsAndOursExcludeEachOther(String product, String layout) throws SQLException {
        open(product, layout);
        assertThat(theirs.tryLock(LOCK)).isTrue();
        busy(store, claim);
        assertThat(version()).as("a refused try writes nothing").isZero();
        theirs.unlock(LOCK);
        long first = granted(store, claim).counter();
        assertThat(theirs.tryLock(LOCK)).isFalse();
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(granted(store, claim.again()).counter()).as("the same claim").isEqualTo(first);
        busy(store, bob.mutex(claim.name()));
        assertThat(get(store.list("clo", 10))).containsExactly(claim.name());
        assertThat(released(store, claim)).isTrue();
        assertThat(theirs.isLocked(LOCK)).isFalse();
        assertThat(theirs.tryLock(LOCK)).isTrue();
        assertThat(get(store.list("", 10))).containsExactly(claim.name());
        assertThat(released(store, claim.again())).as("a late release").isFalse();
        assertThat(theirs.isLocked(LOCK)).as("after a late release of ours").isTrue();
        theirs.unlock(LOCK);
        assertThat(granted(store, bob.mutex(claim.name())).counter()).isGreaterThan(first);
    }

    @ParameterizedTest
    @CsvSource({"h2,insert", "h2,flag", "postgresql,insert", "postgresql,flag", "mariadb,insert", "mariadb,flag"})
    void lockThatSomebodyTookAwayIsReported(String product, String layout) throws SQLException {
        open(product, layout);
        granted(store, claim);
        theirs.unlock(LOCK);
        assertThat(renewed(store, claim)).isEqualTo(new Renewed.Gone(Renewed.Reason.RELEASED));
        assertThat(theirs.tryLock(LOCK)).isTrue();
        assertThat(released(store, claim)).isFalse();
        assertThat(renewed(store, claim)).isInstanceOf(Renewed.Gone.class);
        assertThat(theirs.isLocked(LOCK)).isTrue();
        theirs.unlock(LOCK);

        Claim second = bob.mutex(claim.name());
        granted(store, second);
        theirs.unlock(LOCK);
        assertThat(released(store, second))
                .as("the release finds that it was gone")
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({"h2,insert", "postgresql,flag", "mariadb,insert"})
    void lockOfDeadClientOfOursBecomesFreeForThem(String product, String layout) throws SQLException {
        open(product, layout);
        Claim dies = claim;
        granted(store, dies);
        assertThat(theirs.tryLock(LOCK)).isFalse();
        expire();
        awaitUntil(() -> tryTheirs(LOCK));
        assertThat(repaired(() -> released(store, dies.again())))
                .as("the dead one's late release")
                .isFalse();
        assertThat(theirs.isLocked(LOCK)).isTrue();
        theirs.unlock(LOCK);

        // Or another client of ours comes first.
        Claim diesToo = bob.mutex(claim.name());
        granted(store, diesToo);
        expire();
        Claim next = alice.mutex(claim.name());
        awaitUntil(() -> get(store.tryAcquire(next)) instanceof Granted);
        assertThat(repaired(() -> released(store, diesToo.again()))).isFalse();
        assertThat(theirs.tryLock(LOCK)).isFalse();
        assertThat(renewed(store, next)).isInstanceOf(Granted.class);
    }

    // Its lease is over from one moment to the next, however long this test has paused before.
    private void expire() {
        run(url.replaceAll("&holdfast.*", ""), "UPDATE job_lock_holdfast SET expires = 1, version = version + 1");
    }

    /** Late releases leave entries that last for long. They must not keep the sweep from a dead client's lock. */
    @ParameterizedTest
    @ValueSource(strings = "h2")
    void manyLateReleasesDoNotHideDeadClient(String product) throws SQLException {
        open(product, "insert");
        for (int i = 0; i < 1_001; i++) {
            Claim late = alice.mutex(new LockName("a" + i));
            assertThat(released(store, late)).isFalse();
        }
        assertThat(text("SELECT COUNT(*) FROM job_lock_holdfast WHERE more > 0"))
                .isEqualTo("1001");
        granted(store, claim);
        run(url.replaceAll("&holdfast.*", ""), "UPDATE job_lock_holdfast SET expires = 1 WHERE holder <> '-'");
        awaitUntil(() -> tryTheirs(LOCK));
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void deadClientsLockToWhichTheirProgramRefersDoesNotKeepOthers(String product) throws SQLException {
        open(product, "insert");
        for (int i = 0; i < 12; i++) {
            granted(store, alice.mutex(new LockName("a-job-" + i)));
        }
        granted(store, claim);
        run(
                url.replaceAll("&holdfast.*", ""),
                "CREATE TABLE note (name VARCHAR(100), FOREIGN KEY (name) REFERENCES job_lock (name))",
                "INSERT INTO note SELECT name FROM job_lock WHERE name LIKE 'a-job-%'");
        expire();
        awaitUntil(() -> tryTheirs(LOCK));
        assertThat(theirs.isLocked("a-job-0")).isTrue();
    }

    /** A list looks at a bounded number of rows, among which free ones do not count. */
    @ParameterizedTest
    @ValueSource(strings = "h2")
    void freeRowsDoNotHideHeldOnes(String product) throws SQLException {
        open(product, "flag");
        run(
                url.replaceAll("&holdfast.*", ""),
                "DELETE FROM job_lock",
                "INSERT INTO job_lock SELECT 'a' || x, 0 FROM SYSTEM_RANGE(1, " + LockStore.MAX_LIST + ")");
        theirs.introduce(LOCK);
        granted(store, claim);
        assertThat(get(store.list("", 10))).containsExactly(claim.name());
    }

    /** Whoever locks their whole table stops ours for a moment each time, but breaks no connection. */
    @ParameterizedTest
    @CsvSource({"postgresql,insert", "mariadb,flag"})
    void lockOnTheirWholeTableIsNotWaitedFor(String product, String layout) throws SQLException {
        open(product, layout);
        granted(store, claim);
        theirs.connection().setAutoCommit(false);
        try (Statement statement = theirs.connection().createStatement()) {
            statement.execute(
                    product.equals("mariadb")
                            ? "LOCK TABLES job_lock WRITE"
                            : "LOCK TABLE job_lock IN ACCESS EXCLUSIVE MODE");
            StoreException failure = failure(store.renew(List.of(claim)));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure).hasMessageContaining("is locked by another client's");
            assertThat(get(store.tryAcquire(bob.mutex(new LockName("other"))))).isInstanceOf(Attempt.Busy.class);
            if (product.equals("mariadb")) {
                statement.execute("UNLOCK TABLES");
            }
        }
        theirs.connection().rollback();
        theirs.connection().setAutoCommit(true);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
    }

    /**
     * In the zone of the session one hour is missing in spring: a holder that wrote its time forty seconds ago, before the
     * clock was put forward, lives.
     */
    @ParameterizedTest
    @ValueSource(strings = {"TIMESTAMP(6) NULL", "DATETIME(6)"})
    void summerTimeKillsNobody(String type) throws SQLException {
        String plain = url("mariadb");
        makeZone();
        // 2026-03-29 01:00:10 UTC, ten seconds after the change.
        url = plain + "&sessionVariables=time_zone='Holdfast/Summer',timestamp=1774746010";
        run(
                url,
                "CREATE TABLE app_lock (name VARCHAR(100) PRIMARY KEY, locked_by VARCHAR(80), beat " + type + ")",
                "INSERT INTO app_lock VALUES ('" + LOCK + "', 'lives', FROM_UNIXTIME(1774745970)),"
                        + " ('dead', 'dead', FROM_UNIXTIME(1774735200))");
        assertThat(text("SELECT CONCAT(beat, ' ', NOW()) FROM app_lock WHERE name = '" + LOCK + "'"))
                .isEqualTo("2026-03-29 01:59:30.000000 2026-03-29 03:00:10");
        store = open(url + "&holdfast.layout=insert&holdfast.theirTable=app_lock&holdfast.ownerColumn=locked_by"
                + "&holdfast.timeColumn=beat&holdfast.timeZone=session&holdfast.deadAfter=30m");
        busy(store, claim);
        granted(store, alice.mutex(new LockName("dead")));
    }

    // The server has no zones of its own. This one is an hour ahead of UTC, and two hours after the change.
    private static void makeZone() {
        run(
                MariaDbServer.shared().mariaUrl("mysql"),
                "DELETE FROM time_zone_name WHERE Name = 'Holdfast/Summer'",
                "REPLACE INTO time_zone VALUES (9999, 'N')",
                "REPLACE INTO time_zone_name VALUES ('Holdfast/Summer', 9999)",
                "REPLACE INTO time_zone_transition_type VALUES (9999, 0, 3600, 0, 'CET'), (9999, 1, 7200, 1, 'CEST')",
                "REPLACE INTO time_zone_transition VALUES (9999, 1600000000, 0), (9999, 1774746000, 1)");
    }

    private boolean tryTheirs(String lock) {
        try {
            return theirs.tryLock(lock);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    @ParameterizedTest
    @CsvSource({"h2,insert", "postgresql,flag", "mariadb,insert"})
    void breakEndsTheHoldThatWasSeen(String product, String layout) throws SQLException {
        open(product, layout);
        theirs.tryLock(LOCK);
        Claim seen = holders(store, claim.name()).get(0);
        assertThat(seen.owner().client()).isEqualTo("unknown");
        theirs.unlock(LOCK);
        assertThat(released(store, seen)).as("it was released meanwhile").isFalse();
        granted(store, claim);
        assertThat(released(store, seen)).as("it is ours now").isFalse();
        assertThat(theirs.isLocked(LOCK)).isTrue();
        assertThat(released(store, claim)).isTrue();
        theirs.tryLock(LOCK);
        assertThat(released(store, seen)).as("it was ours in between").isFalse();
        assertThat(released(store, holders(store, claim.name()).get(0))).isTrue();
        assertThat(theirs.isLocked(LOCK)).isFalse();
        assertThat(holders(store, claim.name())).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"h2,insert", "postgresql,insert", "mariadb,insert", "postgresql,flag", "mariadb,flag"})
    void openTransactionOfTheirsIsNotWaitedFor(String product, String layout) throws SQLException {
        open(product, layout);
        theirs.connection().setAutoCommit(false);
        assertThat(theirs.tryLock(LOCK)).isTrue();
        // Nobody else sees it yet, so ours must find out by trying.
        assertThat(get(store.tryAcquire(claim))).isInstanceOf(Attempt.Busy.class);
        theirs.connection().rollback();
        granted(store, claim);
        try (Statement statement = theirs.connection().createStatement()) {
            statement.executeQuery("SELECT * FROM job_lock FOR UPDATE").close();
            StoreException failure = failure(store.release(claim));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
        }
        theirs.connection().rollback();
        assertThat(released(store, claim)).isTrue();
        theirs.connection().setAutoCommit(true);
        assertThat(theirs.isLocked(LOCK)).isFalse();
    }

    /** Without the owner nobody could see whose the row is, since it is there. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void ownerShowsWhoseRowItIs(String product) throws SQLException {
        url = url(product);
        run(url, "CREATE TABLE app_lock (name VARCHAR(100) PRIMARY KEY, locked_by VARCHAR(80))");
        store = open(url + "&holdfast.layout=insert&holdfast.theirTable=app_lock&holdfast.ownerColumn=locked_by");
        granted(store, claim);
        assertThat(text("SELECT locked_by FROM app_lock")).isEqualTo("holdfast:" + claim.id());
        run(url, "DELETE FROM app_lock", "INSERT INTO app_lock VALUES ('" + LOCK + "', 'batch-7')");
        Claim other = alice.mutex(new LockName("other"));
        granted(store, other);
        assertThat(get(store.renew(List.of(claim, other))).get(0)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
        assertThat(released(store, claim)).isFalse();
        assertThat(text("SELECT locked_by FROM app_lock WHERE name = '" + LOCK + "'"))
                .isEqualTo("batch-7");
        assertThat(holders(store, claim.name()).get(0).owner().label()).isEqualTo("batch-7");
        run(url, "UPDATE app_lock SET locked_by = 'x' WHERE name = 'other'");
        assertThat(released(store, other)).as("it was taken before the release").isFalse();
        assertThat(text("SELECT locked_by FROM app_lock WHERE name = 'other'")).isEqualTo("x");
    }

    @ParameterizedTest
    @CsvSource({"h2,TIMESTAMP WITH TIME ZONE", "postgresql,TIMESTAMP WITH TIME ZONE", "mariadb,TIMESTAMP(6)"})
    void deadProgramsOfTheirsAreFollowed(String product, String type) throws SQLException {
        url = url(product);
        run(
                url,
                "CREATE TABLE app_lock (name VARCHAR(100) PRIMARY KEY, busy CHAR(1) NOT NULL, locked_by VARCHAR(80), beat "
                        + type + " NULL)",
                "INSERT INTO app_lock VALUES ('" + LOCK + "', 'Y', 'dead', TIMESTAMP '2020-01-01 00:00:00')",
                "INSERT INTO app_lock VALUES ('lives', 'Y', 'b', CURRENT_TIMESTAMP)",
                "INSERT INTO app_lock VALUES ('says-nothing', 'Y', 'c', NULL)");
        store = open(url + "&holdfast.layout=flag&holdfast.theirTable=app_lock&holdfast.flagColumn=busy&holdfast.free=N"
                + "&holdfast.held=Y&holdfast.ownerColumn=locked_by&holdfast.timeColumn=beat&holdfast.deadAfter=30m");
        busy(store, alice.mutex(new LockName("lives")));
        busy(store, alice.mutex(new LockName("says-nothing")));
        granted(store, claim);
        assertThat(text("SELECT locked_by FROM app_lock WHERE name = '" + LOCK + "'"))
                .endsWith(claim.id().toString());
        String taken = text("SELECT beat FROM app_lock WHERE name = '" + LOCK + "'");
        assertThat(taken).doesNotStartWith("2020");
        awaitUntil(() -> {
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
            return !text("SELECT beat FROM app_lock WHERE name = '" + LOCK + "'")
                    .equals(taken);
        });
        assertThat(failure(store.tryAcquire(bob.mutex(new LockName("new")).withLease(Duration.ofMinutes(31)))))
                .hasMessageContaining("1860000 ms")
                .hasMessageContaining("deadAfter");
        assertThat(released(store, claim)).isTrue();
        assertThat(text("SELECT busy FROM app_lock WHERE name = '" + LOCK + "'"))
                .isEqualTo("N");
        assertThat(text("SELECT locked_by FROM app_lock WHERE name = '" + LOCK + "'"))
                .isNull();
    }

    /** A column of whole seconds shows a time that is up to a second too early, by which others take the lock over. */
    @ParameterizedTest
    @ValueSource(strings = "mariadb")
    void leaseIsOverBeforeItsHolderCountsAsDead(String product) throws SQLException {
        url = url(product);
        run(url, "CREATE TABLE app_lock (name VARCHAR(100) PRIMARY KEY, locked_by VARCHAR(80), beat DATETIME)");
        store = open(url + "&holdfast.layout=insert&holdfast.theirTable=app_lock&holdfast.ownerColumn=locked_by"
                + "&holdfast.timeColumn=beat&holdfast.timeZone=utc&holdfast.deadAfter=30s");
        Claim longest = Stream.of(30, 29)
                .map(seconds -> claim.withLease(Duration.ofSeconds(seconds)))
                .filter(tried -> get(store.tryAcquire(tried).handle((attempt, refusal) -> refusal == null)))
                .findFirst()
                .orElseThrow();
        assertThat(text("SELECT MIN(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', beat) + 30000000 >= expires)"
                        + " FROM app_lock, app_lock_holdfast WHERE holder <> '-'"))
                .as("with the longest lease that is not refused, %s", longest.lease())
                .isEqualTo("1");
    }

    /** Beside their table are two of ours, as the page says. */
    @ParameterizedTest
    @ValueSource(strings = "postgresql")
    void noTableIsMadeThatTheLayoutDoesNotNeed(String product) throws SQLException {
        open(product, "insert");
        assertThat(text("SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables"
                        + " WHERE schemaname = current_schema()"))
                .isEqualTo("job_lock job_lock_holdfast job_lock_holdfast_schema");
        assertThat(JdbcLockStore.ddl(url)).contains("job_lock_holdfast_schema").doesNotContain("_node");
    }

    @ParameterizedTest
    @CsvSource({"h2,insert", "mariadb,flag"})
    void otherKindsAndLongNamesAreRefusedByName(String product, String layout) throws SQLException {
        open(product, layout);
        assertThat(failure(store.tryAcquire(alice.read(claim.name()))))
                .hasMessageContaining("layout=" + layout)
                .hasMessageContaining(LOCK)
                .hasMessageContaining("read-write lock");
        StoreException tooLong = failure(store.tryAcquire(alice.mutex(new LockName("x".repeat(101)))));
        assertThat(tooLong).hasMessageContaining("100 characters");
        assertThat(tooLong.retryable()).isFalse();
    }

    /** MariaDB's usual collation ignores case and blanks at the end. */
    @ParameterizedTest
    @ValueSource(strings = {"insert", "flag"})
    void namesThatTheColumnTakesForOneExcludeEachOther(String layout) throws SQLException {
        open("mariadb", layout);
        granted(store, claim);
        for (String alike : List.of("Close-Month", "close-month ")) {
            Claim other = bob.mutex(new LockName(alike));
            busy(store, other);
            assertThat(released(store, other.again())).isFalse();
            assertThat(renewed(store, other)).isInstanceOf(Renewed.Gone.class);
        }
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(theirs.tryLock("CLOSE-MONTH")).isFalse();
        assertThat(released(store, claim)).isTrue();
        Claim other = bob.mutex(new LockName("Close-Month"));
        granted(store, other);
        assertThat(renewed(store, other)).isInstanceOf(Granted.class);
        assertThat(theirs.tryLock(LOCK)).isFalse();
        busy(store, alice.mutex(claim.name()));
    }

    private long version() {
        String version = text("SELECT MAX(version) FROM job_lock_holdfast");
        return version == null ? 0 : Long.parseLong(version);
    }

    private String text(String query) {
        try (Connection connection = connect(url.replaceAll("&holdfast.*", ""));
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getString(1);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
