package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.RecordingListener;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
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

    /** The release reads and writes the row, and notifies; the one that is notified reads the row. Nobody else does anything. */
    @ParameterizedTest
    @ValueSource(ints = {8, 64})
    void aGrantIsFourRequestsHoweverManyWait(int clients) {
        DatabaseUrl url = DatabaseUrl.of(url("postgresql"));
        CountingSource statements =
                closing(new CountingSource(new ConnectionPool(url, new Properties(), 120, TIMEOUT, TIMEOUT, "test")));
        Dialect dialect = url.dialect(ServerOptions.DEFAULTS, true);
        ServerOptions options = ServerOptions.parse("ticketTtl=10m"); // no refresh is needed meanwhile
        List<RowLockStore> stores = new ArrayList<>();
        for (int i = 0; i <= clients; i++) {
            WaiterNotifier notifier =
                    ServerStoreFactory.notifier(url, dialect, statements, options, MonotonicClock.SYSTEM);
            StoreWiring wiring = ServerStoreFactory.wiring(notifier, options, TIMEOUT, true);
            stores.add(closing(
                    ServerStoreFactory.open(dialect, unclosed(statements), options, wiring, MonotonicClock.SYSTEM)));
        }
        Claim holder = alice.mutex(name).withLease(LONG);
        granted(stores.get(0), holder);
        List<Claim> waiters = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 1; i <= clients; i++) {
            waiters.add(bob.mutex(name).withLease(LONG));
            listeners.add(waiting(stores.get(i), waiters.get(i - 1)));
        }
        stores.subList(1, stores.size()).forEach(store -> awaitUntil(store::isNotified));
        statements.take();
        get(stores.get(0).release(holder));
        for (int i = 0; i < clients; i++) {
            awaitGrant(listeners.get(i));
            get(stores.get(i + 1).release(waiters.get(i)));
        }
        List<String> requests = statements.take();
        // Polls read in the same way, and how many there are depends on the time that all this takes.
        assertThat(requests)
                .as("other requests than reads of waiters")
                .filteredOn(sql -> !sql.contains("version <> ?"))
                .hasSizeLessThanOrEqualTo(3 * (clients + 1));
        assertThat(requests)
                .as("reads of those who were notified")
                .filteredOn(sql -> sql.contains("version <> ?"))
                .hasSizeGreaterThan(clients / 2);
    }

    // All stores of the test share it.
    private static ConnectionSource unclosed(ConnectionSource shared) {
        return new ConnectionSource() {
            @Override
            public Connection open() throws SQLException {
                return shared.open();
            }

            @Override
            public boolean keep() {
                return false;
            }

            @Override
            public void close() {}

            @Override
            public String toString() {
                return shared.toString();
            }
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
            statement.execute("LISTEN holdfast");
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

    /** As long as no claim waits in another client, no notification is sent. */
    @Test
    void noNotificationIsSentWithoutWaitersElsewhere() throws SQLException {
        String url = url("postgresql");
        LockStore store = open(url);
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement()) {
            statement.execute("LISTEN holdfast");
            for (int i = 0; i < 20; i++) {
                Claim claim = alice.mutex(new LockName("quiet-" + i));
                granted(store, claim);
                Claim here = bob.mutex(claim.name());
                RecordingListener listener = waiting(store, here);
                get(store.release(claim));
                awaitGrant(listener);
                get(store.release(here));
            }
            PGNotification[] notifications =
                    connection.unwrap(PGConnection.class).getNotifications(100);
            // A poll may find a grant before the release that made it notifies: then its claim has no listener here
            // any more.
            assertThat(notifications == null ? 0 : notifications.length)
                    .as("of 20 hand-overs")
                    .isLessThan(3);
        }
    }
}
