package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * Notifies waiters by {@code LISTEN} and {@code NOTIFY}. A client listens on one connection while claims wait in it.
 * A client that hands a grant to a waiter of another client sends a notification with the ids of the claims on one
 * channel; a client in which one of these claims waits reads the row at once.
 *
 * <p>A notification is a statement of its own, after the commit of the grant: in the same transaction it would keep
 * the database's queue of notifications locked while the commit waits for the disk, and so make all such commits
 * wait for each other. If it is lost, the poll finds the grant.
 */
public final class PostgresNotifier implements WaiterNotifier {

    private static final String CHANNEL = "holdfast";

    /** The most ids in one notification: it has room for 8,000 bytes, and an id takes up to 80. */
    private static final int MOST_IDS = 90;

    /** How long one read waits for notifications, before it is checked whether to end. */
    private static final int LISTEN_MILLIS = 1_000;

    /** The pause after a connection has failed. */
    private static final long PAUSE_AFTER_FAILURE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ConnectionSource source;
    private @Nullable Thread thread;
    private volatile boolean closed;

    public PostgresNotifier(ConnectionSource source) {
        this.source = source;
    }

    @Override
    public void notifyGranted(List<Handed> granted, SerialConnection work) {
        String ids = granted.stream()
                .limit(MOST_IDS)
                .map(handed -> handed.id().toString())
                .collect(Collectors.joining(" "));
        try {
            work.call(turn -> turn.table()
                    .statements()
                    .query(
                            "SELECT pg_notify('" + CHANNEL + "', ?)",
                            statement -> statement.setString(1, ids),
                            rows -> true));
        } catch (StoreException lost) {
            // The grant is in the rows, and the waiters poll these anyway.
            return;
        }
    }

    @Override
    public synchronized void listen(WaiterRegistry waiters, WaitPoller poller) {
        if (thread == null && !closed) {
            thread = new Thread(() -> run(waiters, poller), "holdfast-postgresql-listener");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void run(WaiterRegistry waiters, WaitPoller poller) {
        while (!mayEnd(waiters)) {
            try {
                Connection connection = source.open();
                try {
                    listen(connection, waiters, poller);
                } finally {
                    source.giveBack(connection);
                }
            } catch (SQLException broken) {
                LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NANOS);
            }
        }
    }

    private void listen(Connection connection, WaiterRegistry waiters, WaitPoller poller) throws SQLException {
        PGConnection ours = connection.unwrap(PGConnection.class);
        try (Statement statement = connection.createStatement()) {
            statement.execute("LISTEN " + CHANNEL);
            // Notifications sent before LISTEN were missed, so the rows are read once.
            poller.lookNow();
            while (!closed && !waiters.isEmpty()) {
                PGNotification[] notifications = ours.getNotifications(LISTEN_MILLIS);
                if (notifications != null && concernsUs(notifications, waiters)) {
                    poller.lookNow();
                }
            }
            statement.execute("UNLISTEN " + CHANNEL);
        }
    }

    private static boolean concernsUs(PGNotification[] notifications, WaiterRegistry waiters) {
        for (PGNotification notification : notifications) {
            for (String id : notification.getParameter().split(" ", -1)) {
                if (waiters.contains(id)) {
                    return true;
                }
            }
        }
        return false;
    }

    private synchronized boolean mayEnd(WaiterRegistry waiters) {
        if (closed || waiters.isEmpty()) {
            thread = null;
            return true;
        }
        return false;
    }

    // The listener's thread gives its connection back within a second. The pool is closed by then, and closes it.
    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
