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
 * {@code LISTEN} and {@code NOTIFY}. A client listens on one connection while claims wait here. Who hands a grant to a waiter
 * of another client says so on one channel, with the ids of the claims; who knows one of them reads the row at once.
 *
 * <p>A notification is a statement of its own, after the commit of what it tells: in the same transaction it would keep the
 * database's queue of notifications locked while the commit waits for the disk, and so make all such commits wait for each
 * other. If it is lost, the poll finds the grant.
 */
public final class PostgresNotifier implements WaiterNotifier {

    private static final String CHANNEL = "holdfast";

    /** A notification has room for 8,000 bytes, a claim's id for 80. */
    private static final int MOST_IDS = 90;

    private static final int LISTEN_MILLIS = 1_000;
    private static final long PAUSE_AFTER_FAILURE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ConnectionSource source;
    private @Nullable Thread thread;
    private volatile boolean closed;

    public PostgresNotifier(ConnectionSource source) {
        this.source = source;
    }

    @Override
    public void announce(List<Handed> granted, SerialConnection work) {
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
            // What it tells is in the rows, where the waiters look anyway.
            return;
        }
    }

    @Override
    public synchronized void listen(WaiterRegistry waiting, WaitPoller poller) {
        if (thread == null && !closed) {
            thread = new Thread(() -> run(waiting, poller), "holdfast-postgresql-listener");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void run(WaiterRegistry waiting, WaitPoller poller) {
        while (!mayEnd(waiting)) {
            try {
                Connection connection = source.open();
                try {
                    listen(connection, waiting, poller);
                } finally {
                    source.giveBack(connection);
                }
            } catch (SQLException broken) {
                LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NANOS);
            }
        }
    }

    private void listen(Connection connection, WaiterRegistry waiting, WaitPoller poller) throws SQLException {
        PGConnection ours = connection.unwrap(PGConnection.class);
        try (Statement statement = connection.createStatement()) {
            statement.execute("LISTEN " + CHANNEL);
            // What was told before is in the rows.
            poller.lookNow();
            while (!closed && !waiting.isEmpty()) {
                PGNotification[] told = ours.getNotifications(LISTEN_MILLIS);
                if (told != null && concernsUs(told, waiting)) {
                    poller.lookNow();
                }
            }
            statement.execute("UNLISTEN " + CHANNEL);
        }
    }

    private static boolean concernsUs(PGNotification[] told, WaiterRegistry waiting) {
        for (PGNotification one : told) {
            for (String id : one.getParameter().split(" ", -1)) {
                if (waiting.contains(id)) {
                    return true;
                }
            }
        }
        return false;
    }

    private synchronized boolean mayEnd(WaiterRegistry waiting) {
        if (closed || waiting.isEmpty()) {
            thread = null;
            return true;
        }
        return false;
    }

    // The connection is given back within a second; the pool is closed by then, and closes it.
    @Override
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
