package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.RecordingListener;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** Notifications of waiters by PostgreSQL: the option {@code wakeup=notify}. */
class PostgresNotifierTest extends Servers {

    private static final int HAND_OVERS = 21;

    @Test
    void waitersOfAnotherClientAreNotified() {
        String url = url("postgresql") + "&holdfast.wakeup=notify";
        LockStore one = open(url);
        LockStore other = open(url);
        long[] nanos = new long[HAND_OVERS];
        for (int i = 0; i < HAND_OVERS; i++) {
            Claim holder = alice.mutex(new LockName("wakeup"));
            granted(one, holder);
            Claim waiter = bob.mutex(holder.name());
            RecordingListener listener = waiting(other, waiter);
            awaitUntil(() -> isListening(url));
            long start = System.nanoTime();
            get(one.release(holder));
            awaitGrant(listener);
            nanos[i] = System.nanoTime() - start;
            get(other.release(waiter));
        }
        Arrays.sort(nanos);
        // With the poll alone, the median is 250 ms.
        assertThat(nanos[HAND_OVERS / 2]).as("nanoseconds").isLessThan(150_000_000);
    }

    /** As long as no claim waits in another client, no notification is sent. */
    @Test
    void noNotificationIsSentWithoutWaitersElsewhere() throws SQLException {
        String url = url("postgresql") + "&holdfast.wakeup=notify";
        LockStore store = open(url);
        try (Connection connection = connect(url.replaceAll("&holdfast.*", ""));
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

    private static boolean isListening(String url) {
        try (Connection connection = connect(url.replaceAll("&holdfast.*", ""));
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'holdfast' AND query = 'LISTEN holdfast'")) {
            return rows.next();
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }
}
