package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.waiting.PostgresNotifier;
import dev.holdfast.jdbc.waiting.WaitPoller;
import dev.holdfast.jdbc.waiting.WaiterRegistry;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** Notifications of waiters by PostgreSQL, which are the default. */
class PostgresNotifierTest extends Servers {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    @Test
    void clientsAreNotifiedUnlessTheyWantToPoll() {
        String url = url("postgresql");
        LockStore notified = open(url);
        LockStore polling = open(url + "&holdfast.wakeup=poll");
        granted(notified, alice.mutex(name));
        waiting(notified, bob.mutex(name));
        waiting(polling, bob.mutex(name));
        awaitUntil(((RowLockStore) notified)::isNotified);
        assertThat(((RowLockStore) polling).isNotified()).isFalse();
    }

    /**
     * The server's processes of one client are stopped, so that they answer as little as when a firewall has dropped the client's
     * connections. Before, the client went on listening, as in a database in which nothing happens, and polled rarely.
     */
    @Test
    void listenerThatHearsNothingIsReplaced() throws Exception {
        // Nobody refreshes the ticket meanwhile.
        String url = url("postgresql") + "&holdfast.ticketTtl=10m";
        LockStore here = open(url);
        RowLockStore there = (RowLockStore) open(url + "&ApplicationName=silent");
        Claim holder = alice.mutex(name);
        granted(here, holder);
        RecordingListener listener = waiting(there, bob.mutex(name).withLease(LONG));
        awaitUntil(there::isNotified);
        List<String> sessions = sessions(url, "silent");
        signal("STOP", sessions);
        try {
            awaitUntil(() -> !there.isNotified());
            awaitUntil(there::isNotified);
            get(here.release(holder));
            awaitGrant(listener);
        } finally {
            signal("CONT", sessions);
        }
    }

    /** What the call has done is done, and the waiters look for themselves. */
    @Test
    void defectOfTheDriverInANotificationFailsNoCall() {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        Dialect dialect = url.dialect(ServerOptions.DEFAULTS, true);
        ManualClock clock = new ManualClock(Seeds.of("notifier"));
        CountingSource statements =
                closing(new CountingSource(new ConnectionPool(url, new Properties(), 5, TIMEOUT, TIMEOUT, "test")));
        AtomicInteger defects = new AtomicInteger();
        statements.before(sql -> {
            defects.incrementAndGet();
            throw new IllegalStateException("of the driver");
        });
        SerialConnection work =
                closing(new SerialConnection(statements, statements.use(), dialect, TIMEOUT, TIMEOUT, clock));
        PostgresNotifier notifier = closing(new PostgresNotifier(statements, dialect, TIMEOUT, clock, true));
        notifier.check(work);
        notifier.notifyWaiters(List.of(alice.mutex(name).id()), work);
        notifier.notifyWaiters(List.of(alice.mutex(name).id(), bob.mutex(name).id()), work);
        assertThat(defects).hasValue(3);
    }

    private static List<String> sessions(String url, String application) throws SQLException {
        List<String> sessions = new ArrayList<>();
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT pid FROM pg_stat_activity WHERE application_name = '" + application + "'")) {
            while (rows.next()) {
                sessions.add(rows.getString(1));
            }
        }
        return sessions;
    }

    private static void signal(String signal, List<String> processes) throws Exception {
        List<String> command = new ArrayList<>(List.of("kill", "-" + signal));
        command.addAll(processes);
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
    }

    /** A server that is away for a moment when the store is opened must not make it poll for ever. */
    @Test
    void clientThatNoNotificationReachedTriesAgain() {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        Dialect dialect = url.dialect(ServerOptions.DEFAULTS, true);
        ManualClock clock = new ManualClock(Seeds.of("notifier"));
        ConnectionSource pool = closing(new ConnectionPool(url, new Properties(), 5, TIMEOUT, TIMEOUT, "test"));
        SerialConnection work = closing(new SerialConnection(pool, pool.use(), dialect, TIMEOUT, TIMEOUT, clock));
        AtomicBoolean away = new AtomicBoolean(true);
        PostgresNotifier notifier = closing(new PostgresNotifier(awayWhile(away, pool), dialect, TIMEOUT, clock, true));
        WaiterRegistry waiters = new WaiterRegistry();
        Claim claim = bob.mutex(name);
        waiters.add(new WaiterRegistry.Waiter(claim, new RecordingListener(), waiters));
        WaitPoller poller = closing(WaitPoller.ofRows(work, waiters, notifier, TIMEOUT, clock, "test-poller"));
        notifier.check(work);
        away.set(false);
        clock.advance(Duration.ofMinutes(1));
        notifier.listen(claim.id(), waiters, poller);
        awaitUntil(notifier::isListening);
    }

    /**
     * A listener that nobody needs ends after a while. Before, it looked for claims before it waited for notifications and not after
     * that: it also ended if a claim had begun to wait meanwhile, and what was notified until the next one listened was lost. A
     * program that waited for a lock each ten seconds met that now and then.
     */
    @Test
    void listenerStaysForAClaimThatBeginsToWaitAtTheEndOfItsTime() throws SQLException {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        open(url.url()); // which makes the table
        Dialect dialect = url.dialect(ServerOptions.DEFAULTS, true);
        ManualClock clock = new ManualClock(Seeds.of("notifier"));
        CountingSource statements =
                closing(new CountingSource(new ConnectionPool(url, new Properties(), 5, TIMEOUT, TIMEOUT, "test")));
        SerialConnection work =
                closing(new SerialConnection(statements, statements.use(), dialect, TIMEOUT, TIMEOUT, clock));
        PostgresNotifier notifier = closing(new PostgresNotifier(statements, dialect, TIMEOUT, clock, true));
        WaiterRegistry waiters = new WaiterRegistry();
        Claim claim = bob.mutex(name);
        waiters.add(new WaiterRegistry.Waiter(claim, new RecordingListener(), waiters));
        WaitPoller poller = closing(WaitPoller.ofRows(work, waiters, notifier, TIMEOUT, clock, "test-poller"));
        notifier.check(work);
        notifier.listen(claim.id(), waiters, poller);
        awaitUntil(notifier::isListening);
        // For the listener, which waits for notifications, this is the same as if the claim had come just now.
        clock.advance(Duration.ofMinutes(1));
        String channel = PostgresNotifier.channel(claim.id());
        AtomicLong reads = new AtomicLong();
        try (Connection connection = connect(url.url())) {
            // After the first one the listener has decided whether to end.
            awaitUntil(() -> {
                run(connection, "NOTIFY " + channel + ", '" + claim.id() + "'");
                reads.addAndGet(statements.take().stream()
                        .filter(sql -> sql.startsWith("SELECT name, holder, held"))
                        .count());
                return statements.hasRun("UNLISTEN " + channel) || reads.get() > 1;
            });
        }
        assertThat(statements.hasRun("UNLISTEN " + channel))
                .as("the listener has ended")
                .isFalse();
    }

    private static void run(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException failed) {
            throw new AssertionError(failed);
        }
    }

    private static ConnectionSource awayWhile(AtomicBoolean away, ConnectionSource source) {
        return new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                if (away.get()) {
                    throw new SQLException("The server is away");
                }
                return source.open();
            }

            @Override
            public Use use() {
                return Use.FOR_A_CALL;
            }

            @Override
            public void close() {}
        };
    }

    /** A release that grants many claims at once, of readers behind a writer, notifies each of them. */
    @Test
    void allWhoAreGrantedAtOnceAreNotified() throws SQLException {
        String url = url("postgresql") + "&holdfast.ticketTtl=10m";
        LockStore here = open(url);
        LockStore there = open(url);
        Claim writer = alice.write(name).withLease(LONG);
        granted(here, writer);
        Set<String> readers = new HashSet<>();
        for (int i = 0; i < 120; i++) {
            Claim reader = bob.read(name).withLease(LONG);
            waiting(there, reader);
            readers.add(reader.id().toString());
        }
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "LISTEN " + PostgresNotifier.channel(bob.mutex(name).id()));
            get(here.release(writer));
            PGConnection listener = connection.unwrap(PGConnection.class);
            PGNotification[] heard = listener.getNotifications(10_000);
            while (heard != null && heard.length > 0 && !readers.isEmpty()) {
                for (PGNotification notification : heard) {
                    readers.removeAll(List.of(notification.getParameter().split(" ", -1)));
                }
                heard = readers.isEmpty() ? null : listener.getNotifications(10_000);
            }
        }
        assertThat(readers).as("readers who were not notified").isEmpty();
    }

    /** Claims of many clients may wait in one store object, each with a channel of its own. */
    @Test
    void furtherClientsOfAStoreAreNotifiedToo() {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        CountingSource statements =
                closing(new CountingSource(new ConnectionPool(url, new Properties(), 20, TIMEOUT, TIMEOUT, "test")));
        LockStore here = open(url.url());
        RowLockStore there = QueueStatementsTest.counted(url, statements);
        closing(there);
        Claim unreleased = alice.mutex(name).withLease(LONG);
        granted(here, unreleased);
        waiting(there, bob.mutex(name));
        awaitUntil(there::isNotified);
        statements.take();
        for (int i = 0; i < 10; i++) {
            Claim holder = alice.mutex(new LockName("further-" + i)).withLease(LONG);
            granted(here, holder);
            Claim waiter = new Claimant("further-" + i, LONG).mutex(holder.name());
            RecordingListener listener = waiting(there, waiter);
            // A notification that is sent before goes to nobody, and a poll finds the grant.
            awaitUntil(() -> statements.hasRun("LISTEN " + PostgresNotifier.channel(waiter.id())));
            get(here.release(holder));
            awaitGrant(listener);
        }
        // A poll that is as quick finds some of the grants.
        assertThat(statements.take())
                .as("reads of those who were notified")
                .filteredOn(sql -> sql.startsWith("SELECT name, holder, held, expires - since"))
                .isNotEmpty();
    }

    /** Else the thread would learn of it when its client polls, which is rare while the database pushes. */
    @Test
    void signalledClaimIsNotified() throws SQLException {
        String url = url("postgresql");
        LockStore here = open(url);
        Claim place = bob.waitSet(name);
        // Nobody refreshes the ticket meanwhile.
        RecordingListener listener = waiting(open(url + "&holdfast.ticketTtl=10m"), place);
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "LISTEN " + PostgresNotifier.channel(bob.mutex(name).id()));
            assertThat(get(here.release(place)).wasOwner()).isTrue();
            PGNotification[] received = connection.unwrap(PGConnection.class).getNotifications(10_000);
            assertThat(received)
                    .extracting(PGNotification::getParameter)
                    .containsExactly(place.id().toString());
        }
        awaitUntil(() -> listener.outcome().isPresent());
    }

    /** What a connection that listens was sent until now: notifications come in the order in which they were sent. */
    static List<String> heard(Connection connection, String channel) throws SQLException {
        String last = "last";
        try (Statement statement = connection.createStatement()) {
            statement.execute("NOTIFY " + channel + ", '" + last + "'");
        }
        PGConnection listener = connection.unwrap(PGConnection.class);
        List<String> heard = new ArrayList<>();
        awaitUntil(() -> heard.addAll(received(listener)) && heard.contains(last));
        heard.remove(last);
        return heard;
    }

    private static List<String> received(PGConnection listener) {
        try {
            PGNotification[] received = listener.getNotifications(1_000);
            return received == null
                    ? List.of()
                    : Arrays.stream(received).map(PGNotification::getParameter).toList();
        } catch (SQLException failed) {
            throw new AssertionError(failed);
        }
    }

    /** As long as no claim waits in another client, no notification is sent. */
    @Test
    void noNotificationIsSentWithoutWaitersElsewhere() throws SQLException {
        String url = url("postgresql");
        RowLockStore store = (RowLockStore) open(url + "&holdfast.ticketTtl=10m");
        granted(store, alice.mutex(name));
        waiting(store, bob.mutex(name));
        // Before, polls are so frequent that many grants are found by one.
        awaitUntil(store::isNotified);
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement()) {
            String channel = PostgresNotifier.channel(bob.mutex(name).id());
            statement.execute("LISTEN " + channel);
            for (int i = 0; i < 20; i++) {
                Claim claim = alice.mutex(new LockName("quiet-" + i));
                granted(store, claim);
                Claim here = bob.mutex(claim.name());
                RecordingListener listener = waiting(store, here);
                get(store.release(claim));
                awaitGrant(listener);
                get(store.release(here));
            }
            // A poll may find a grant before the release that made it notifies: then its claim has no listener here
            // any more.
            assertThat(heard(connection, channel)).as("of 20 hand-overs").hasSizeLessThan(3);
        }
    }
}
