package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of locks that were idle for long go, also where all holds are too short to be renewed. */
class IdleRowsTest extends Servers {

    /** This many rows double themselves so often. */
    private static final int DOUBLINGS = 12;

    private static final String COLUMNS =
            "version, counter, clock, holder, held, permits, capacity, since, expires, owner, more, others";

    private final LockName idle = new LockName("idle");
    private final LockName kept = new LockName("kept");

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void areRemovedAlthoughNobodyRenews(String product) {
        String url = url(product);
        LockStore store = open(url);
        long counter = used(store, idle);
        multiply(product, url);
        Claim held = alice.mutex(kept);
        granted(store, held);
        Claim waits = bob.mutex(kept);
        waiting(store, waits);
        age(url, Duration.ofDays(31));
        used(store, new LockName("new"));
        awaitUntil(() -> rows(url) == 2, "rows are left");
        assertThat(get(store.list("", 10))).containsExactly(kept);
        assertThat(holders(store, kept)).extracting(Claim::id).containsExactly(held.id());
        assertThat(granted(store, alice.mutex(idle)).counter()).isGreaterThan(counter);
    }

    /** A position that has ended leaves no more than a row behind, and a late call to refuse is kept for its time. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void whatIsLeftOfARowThatWasSharedIsRemoved(String product) {
        String url = url(product);
        LockStore store = open(url + "&holdfast.ticketTtl=1s");
        released(store, new Claimant("alice", Duration.ofSeconds(2)).mutex(idle));
        Claim late = new Claimant("alice", LONG).mutex(kept);
        released(store, late);
        age(url, Duration.ofDays(31));
        used(store, new LockName("new"));
        awaitUntil(() -> rows(url) == 2, "the row is left");
        assertThat(get(store.tryAcquire(late))).isInstanceOf(Attempt.Busy.class);
    }

    /** Somebody else has written it. It ended the clean-up of all others. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "h2"})
    void rowWithANameThatNoLockCanHaveIsLeft(String product) {
        String url = url(product);
        LockStore store = open(url);
        used(store, idle);
        String name = product.equals("postgresql") ? "E'a\\n'" : "X'FF'";
        run(
                url,
                "INSERT INTO holdfast_lock (name, " + COLUMNS + ") SELECT " + name + ", " + COLUMNS
                        + " FROM holdfast_lock");
        age(url, Duration.ofDays(31));
        Claim held = alice.mutex(kept);
        granted(store, held);
        awaitUntil(() -> rows(url) == 2, "the idle row is left");
        assertThat(get(store.list("", 10))).containsExactly(kept);
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void aLockedRowIsLeftOut(String product) throws SQLException {
        String url = url(product);
        LockStore before = open(url);
        used(before, idle);
        used(before, kept);
        // It cleans up as soon as the rows are old. The other store does not before it is used, when the row is locked.
        before.close();
        LockStore store = open(url);
        age(url, Duration.ofDays(31));
        try (Connection user = connect(url);
                Statement statement = user.createStatement()) {
            user.setAutoCommit(false);
            statement
                    .executeQuery("SELECT 1 FROM holdfast_lock WHERE name = "
                            + (product.equals("h2") ? "CAST('kept' AS VARBINARY)" : "'kept'") + " FOR UPDATE")
                    .close();
            used(store, new LockName("new"));
            awaitUntil(() -> rows(url) == 2, "the other row is left");
            user.rollback();
        }
        awaitUntil(() -> rows(url) == 1, "the row is left");
    }

    /** Rows from the future are what is left when the server's clock was set back. A client that knows the row takes it otherwise. */
    @ParameterizedTest
    @CsvSource({
        "postgresql, true", "mariadb, true", "mysql, true", "h2, true",
        "postgresql, false", "mariadb, false", "mysql, false", "h2, false"
    })
    void tokensGrowAlthoughTheClockWasSetBack(String product, boolean knowsTheRow) {
        String url = url(product);
        LockStore before = open(url + "&holdfast.ticketTtl=10m");
        long last = used(before, idle) + TimeUnit.HOURS.toMicros(1);
        age(url, Duration.ofHours(-1));
        LockStore store = knowsTheRow ? before : open(url + "&holdfast.ticketTtl=10m");
        Claim holder = alice.mutex(idle);
        assertThat(granted(store, holder).counter()).isEqualTo(last + 1);
        RecordingListener next = waiting(store, bob.mutex(idle));
        assertThat(released(store, holder)).isTrue();
        assertThat(awaitGrant(next).counter()).isEqualTo(last + 2);
    }

    private long used(LockStore store, LockName name) {
        Claim claim = alice.mutex(name);
        long counter = granted(store, claim).counter();
        assertThat(released(store, claim)).isTrue();
        return counter;
    }

    private static void multiply(String product, String url) {
        for (int i = 0; i < DOUBLINGS; i++) {
            String more = "0" + (char) ('a' + i);
            String name = switch (product) {
                case "h2" -> "name || CAST('" + more + "' AS VARBINARY)";
                case "postgresql" -> "name || '" + more + "'";
                default -> "CONCAT(name, '" + more + "')";
            };
            run(
                    url,
                    "INSERT INTO holdfast_lock (name, " + COLUMNS + ") SELECT " + name + ", " + COLUMNS
                            + " FROM holdfast_lock");
        }
        assertThat(rows(url)).isEqualTo(1 << DOUBLINGS);
    }

    private static void age(String url, Duration duration) {
        run(url, "UPDATE holdfast_lock SET counter = counter - " + duration.toMillis() * 1_000);
    }

    private static int rows(String url) {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM holdfast_lock")) {
            rows.next();
            return rows.getInt(1);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
