package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.waiting.PostgresNotifier;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** A pooler in transaction mode stands before the server, so each statement of a client may get another session. */
class TransactionPoolerTest extends Servers {

    private static final int SESSIONS = 3;
    private static final String OFF = "&holdfast.serverPrepare=off";

    /** Nobody refreshes them. */
    private static final String LONG_TICKETS = "&holdfast.ticketTtl=10m";

    private String url;
    /** The same database without the pooler. */
    private String direct;

    // A database of its own: a schema of its own would be a setting of the session.
    @BeforeEach
    void start() {
        String database = "pooled" + System.nanoTime();
        PostgresServer.shared().run("public", "CREATE DATABASE " + database);
        direct = "jdbc:postgresql://127.0.0.1:" + PostgresServer.shared().port() + "/" + database + "?user=holdfast";
        url = closing(PgBouncer.start(PostgresServer.shared(), SESSIONS)).url(database);
    }

    private Connection user() throws SQLException {
        return DriverManager.getConnection(url + "&prepareThreshold=0");
    }

    /** Shows that the pooler does change sessions, so that the other tests test something. */
    @Test
    void statementsOfOneClientGetManySessions() throws SQLException {
        Set<Integer> sessions = new HashSet<>();
        try (Connection first = user();
                Connection second = user()) {
            second.setAutoCommit(false);
            for (int i = 0; i < 20; i++) {
                sessions.add(session(first));
                session(second);
                sessions.add(session(first));
                second.commit();
            }
        }
        assertThat(sessions).hasSizeGreaterThan(1);
    }

    private static int session(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT pg_backend_pid()")) {
            rows.next();
            return rows.getInt(1);
        }
    }

    @Test
    void aSchemaInTheUrlIsRefused() {
        assertThatThrownBy(() -> open(url + "&currentSchema=locks&holdfast.busyTimeout=1500ms" + OFF))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.effect()).isEqualTo(Effect.NONE))
                .hasMessageContaining("search_path");
    }

    @Test
    void locksWorkWithoutPreparedStatements() {
        LockStore here = open(url + OFF);
        LockStore there = open(url + OFF + LONG_TICKETS + "&holdfast.durability=relaxed");
        long last = 0;
        for (int i = 0; i < 40; i++) {
            Claim holder = alice.mutex(new LockName("a"));
            Claim waiter = bob.mutex(holder.name());
            long counter = granted(here, holder).counter();
            assertThat(counter).isGreaterThan(last);
            assertThat(get(there.tryAcquire(waiter))).isInstanceOf(Attempt.Busy.class);
            RecordingListener listener = waiting(there, waiter);
            assertThat(renewed(here, holder)).isInstanceOf(Granted.class);
            get(here.release(holder));
            awaitGrant(listener);
            last = ((Granted) renewed(there, waiter)).counter();
            assertThat(last).isGreaterThan(counter);
            assertThat(renewed(here, holder)).isInstanceOf(Renewed.Gone.class);
            get(there.release(waiter));
            severalNames(here, there);
        }
        assertThat(get(here.list("", 10))).isEmpty();
        assertThat(settings("current_setting('lock_timeout') || ' ' || current_setting('synchronous_commit')"))
                .as("of the sessions that were used")
                .containsExactly("0 on");
    }

    private void severalNames(LockStore here, LockStore there) {
        List<Claim> both = List.of(alice.mutex(new LockName("b")), alice.mutex(new LockName("c")));
        assertThat(get(here.tryAcquireAll(both))).allMatch(Granted.class::isInstance);
        assertThat(get(there.tryAcquireAll(List.of(
                        bob.mutex(new LockName("c")), bob.mutex(new LockName("b")), bob.mutex(new LockName("d"))))))
                .noneMatch(Granted.class::isInstance);
        assertThat(get(here.renew(both))).allMatch(Granted.class::isInstance);
        both.forEach(claim -> get(here.release(claim)));
    }

    private Set<String> settings(String expression) {
        Set<String> settings = new HashSet<>();
        try (Connection connection = user();
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < 3 * SESSIONS; i++) {
                try (ResultSet rows = statement.executeQuery("SELECT " + expression)) {
                    rows.next();
                    settings.add(rows.getString(1));
                }
            }
            return settings;
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    /** Nobody can listen there: the store finds out when it is opened, and polls. */
    @Test
    void notificationsThatDoNotArriveAreNotReliedOn() {
        String notify = url + OFF + "&holdfast.wakeup=notify";
        LockStore here = open(notify);
        LockStore there = open(notify + LONG_TICKETS);
        for (int i = 0; i < 5; i++) {
            Claim holder = alice.mutex(name);
            Claim waiter = bob.mutex(name);
            granted(here, holder);
            RecordingListener listener = waiting(there, waiter);
            get(here.release(holder));
            awaitGrant(listener);
            assertThat(((RowLockStore) there).isNotified()).isFalse();
            get(there.release(waiter));
        }
        assertThat(settings("(SELECT count(*) FROM pg_listening_channels())::text"))
                .as("channels to which sessions of the pooler listen")
                .containsExactly("0");
    }

    /** It cannot listen, but others may have no pooler before them. */
    @Test
    void clientBehindAPoolerNotifiesOthers() throws SQLException {
        LockStore pooled = open(url + OFF);
        LockStore other = open(direct + LONG_TICKETS + "&holdfast.wakeup=poll");
        Claim holder = alice.mutex(name);
        Claim waiter = bob.mutex(name);
        granted(pooled, holder);
        waiting(other, waiter);
        try (Connection connection = DriverManager.getConnection(direct);
                Statement statement = connection.createStatement()) {
            statement.execute("LISTEN " + PostgresNotifier.channel(waiter.id()));
            get(pooled.release(holder));
            PGNotification[] heard = connection.unwrap(PGConnection.class).getNotifications(10_000);
            assertThat(heard)
                    .extracting(PGNotification::getParameter)
                    .containsExactly(waiter.id().toString());
        }
    }

    /** Without the option: no wrong grant, but an error that says which option is needed. */
    @Test
    void preparedStatementsFailWithTheRemedy() {
        LockStore here = open(url);
        LockStore there = open(url);
        StoreException failure = null;
        for (int i = 0; failure == null; i++) {
            assertThat(i).as("rounds without a failure").isLessThan(200);
            try {
                Claim one = alice.mutex(new LockName("one"));
                Claim other = bob.mutex(new LockName("other"));
                get(here.tryAcquire(one));
                get(there.tryAcquire(other));
                get(here.release(one));
                get(there.release(other));
                if (i % 2 == 1) {
                    // The sessions take turns: after an odd number of statements each client meets the other one.
                    get(there.inspect(other.name()));
                }
            } catch (StoreException reported) {
                failure = reported;
            }
        }
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).as("it fails the same way again").isFalse();
        assertThat(failure)
                .hasMessageContaining("prepared statement")
                .hasMessageContaining("holdfast.serverPrepare=off");
    }
}
