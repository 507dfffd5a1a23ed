package dev.holdfast.jdbc.waiting;

import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.DaemonThreads;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * Notifies waiters by {@code LISTEN} and {@code NOTIFY}. A client listens on one connection while claims wait in it,
 * and for a while after that. A client that hands a grant to a waiter of another client, or ends its place in a wait
 * set, sends a notification with the ids of the claims; a client in which one of these claims waits reads the row at
 * once, on the connection on which it listens. There is a channel for each client whose claims wait, so that nobody
 * else is woken: with one channel for all, a hand-over woke as many programs as waited.
 *
 * <p>A notification is a statement of its own, after the commit of the grant: in the same transaction it would keep
 * the database's queue of notifications locked while the commit waits for the disk, and so make all such commits
 * wait for each other. If it is lost, the poll finds the grant.
 *
 * <p>Behind a pooler that gives each transaction another session, notifications do not arrive. So a store sends itself one when it
 * is opened, and if that does not arrive it polls. It still notifies others, who may have no pooler before them. It does so again
 * when its connection has failed, and after {@link #CHECKED_NANOS} if none arrived.
 */
public final class PostgresNotifier implements WaiterNotifier {

    private static final String CHANNEL = "holdfast_";

    /** The most channels on which one connection listens before those are forgotten for which nothing waits. */
    private static final int MOST_CHANNELS = 1_000;

    /** The most ids in one notification: it has room for 8,000 bytes, and an id takes up to 80. */
    private static final int MOST_IDS = 90;

    /** How long one read waits for notifications, before it is checked whether to end and whether the connection still works. */
    private static final int LISTEN_MILLIS = 1_000;

    /** How long the server may take to show that it still is at the other end. Until then polls are rare. */
    private static final int PROBE_SECONDS = 1;

    /** How long a notification to oneself may take. Only behind a pooler it takes so long. */
    private static final int CHECK_MILLIS = 2_000;

    /** How often the session of a pooler that was told to listen is looked for, to tell it that it need not. */
    private static final int TRIES_TO_UNLISTEN = 20;

    /** How long the client goes on listening when no claim waits: to begin anew with each wait would be most of its cost. */
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** The pause after a connection has failed. */
    private static final long PAUSE_AFTER_FAILURE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How long a client that no notification reached takes that for true: the way to the server may change. */
    static final long CHECKED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final ConnectionSource source;
    private final Dialect dialect;
    private final Duration ticketTtl;
    private final MonotonicClock clock;
    private final boolean mayListen;
    /** On this channel the client notifies itself that there is another one to listen to. */
    private final String wakeUp =
            CHANNEL + "wake_" + UUID.randomUUID().toString().replace('-', '_');

    /** The channels of the clients whose claims wait here, or have waited. */
    private final Set<String> channels = ConcurrentHashMap.newKeySet();

    /** Whether there may be a channel to which the connection does not listen. */
    private volatile boolean hasMoreChannels;

    private @Nullable Thread thread;
    /** Sends the notifications to oneself; null before the first check. */
    private volatile @Nullable SerialConnection work;

    private volatile boolean receivesOwn;
    private volatile long checked;
    private volatile boolean listening;
    private volatile boolean closed;
    /** The connection on which the thread listens. */
    private volatile @Nullable Connection used;

    /** @param mayListen whether this client listens, and does not only notify others */
    public PostgresNotifier(
            ConnectionSource source, Dialect dialect, Duration ticketTtl, MonotonicClock clock, boolean mayListen) {
        this.source = source;
        this.mayListen = mayListen;
        this.dialect = dialect;
        this.ticketTtl = ticketTtl;
        this.clock = clock;
    }

    @Override
    public void check(SerialConnection otherConnection) {
        if (!mayListen) {
            return;
        }
        work = otherConnection;
        try {
            check(source.open(), otherConnection);
        } catch (SQLException | RuntimeException | Error cannotListen) {
            checked(false);
        }
    }

    // The notification comes from another connection. On the same one it could arrive although none of another client
    // would: a pooler may have both statements run in the same session.
    private void check(Connection connection, SerialConnection otherConnection) throws SQLException {
        String channel = "holdfast_check_" + UUID.randomUUID().toString().replace('-', '_');
        boolean broken = true;
        used = connection;
        try {
            PGConnection ours = connection.unwrap(PGConnection.class);
            int session = beginToListen(connection, channel);
            send(channel, "", otherConnection);
            PGNotification[] received = ours.getNotifications(CHECK_MILLIS);
            checked(received != null
                    && Arrays.stream(received).anyMatch(one -> one.getName().equals(channel)));
            endListening(connection, channel, session);
            broken = false;
        } finally {
            used = null;
            end(connection, broken);
        }
    }

    private void checked(boolean arrived) {
        receivesOwn = arrived;
        checked = clock.nanoTime();
    }

    private static int beginToListen(Connection connection, String channel) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("LISTEN " + channel);
            int session = session(statement);
            connection.commit();
            return session;
        } finally {
            connection.setAutoCommit(true);
        }
    }

    // Behind a pooler, this is another session each time, and the one that listens must not do so for ever.
    private static void endListening(Connection connection, String channel, int session) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (int i = 0; i < TRIES_TO_UNLISTEN; i++) {
                boolean isThat = session(statement) == session;
                if (isThat) {
                    statement.execute("UNLISTEN " + channel);
                }
                connection.commit();
                if (isThat) {
                    return;
                }
            }
        } finally {
            connection.setAutoCommit(true);
        }
    }

    private static int session(Statement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery("SELECT pg_backend_pid()")) {
            return rows.next() ? rows.getInt(1) : 0;
        }
    }

    @Override
    public void notifyWaiters(List<ClaimId> claims, SerialConnection work) {
        List<String> names = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        claims.stream()
                .collect(Collectors.groupingBy(PostgresNotifier::channel))
                .forEach((channel, ids) -> {
                    for (int from = 0; from < ids.size(); from += MOST_IDS) {
                        names.add(channel);
                        texts.add(ids.subList(from, Math.min(ids.size(), from + MOST_IDS)).stream()
                                .map(ClaimId::toString)
                                .collect(Collectors.joining(" ")));
                    }
                });
        try {
            if (names.size() == 1) {
                send(names.get(0), texts.get(0), work);
            } else {
                send(names, texts, work);
            }
        } catch (RuntimeException | Error lost) { // also one of a driver: what was done is done
            // What happened is in the rows, and the waiters poll these anyway.
            return;
        }
    }

    /** The channel of the client that made a claim. That two clients may have the same one does no harm. */
    public static String channel(ClaimId claim) {
        return CHANNEL + Integer.toHexString(claim.client().hashCode());
    }

    private static void send(String channel, String text, SerialConnection work) {
        work.call(turn -> turn.table()
                .statements()
                .query(
                        "SELECT pg_notify(?, ?)",
                        statement -> {
                            statement.setString(1, channel);
                            statement.setString(2, text);
                        },
                        rows -> true));
    }

    private static void send(List<String> names, List<String> texts, SerialConnection work) {
        work.call(turn -> {
            LockStatements statements = turn.table().statements();
            Connection connection = statements.connection();
            return statements.query(
                    "SELECT pg_notify(n.channel, n.ids) FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS n(channel, ids)",
                    statement -> {
                        statement.setArray(1, connection.createArrayOf("text", names.toArray()));
                        statement.setArray(2, connection.createArrayOf("text", texts.toArray()));
                    },
                    rows -> true);
        });
    }

    @Override
    public void listen(ClaimId claim, WaiterRegistry waiters, WaitPoller poller) {
        SerialConnection otherConnection = work;
        if (otherConnection != null && mustWake(claim, waiters, poller)) {
            try {
                send(wakeUp, "", otherConnection);
            } catch (RuntimeException | Error lost) {
                // The listener looks for other channels each time that nothing has arrived for a while.
                return;
            }
        }
    }

    // Whether the thread, if there was one, does not know of the channel yet.
    private synchronized boolean mustWake(ClaimId claim, WaiterRegistry waiters, WaitPoller poller) {
        if (closed || (thread == null && !mayReceive())) {
            return false;
        }
        boolean isNew = channels.add(channel(claim));
        if (isNew) {
            hasMoreChannels = true;
        }
        if (thread != null) {
            return isNew;
        }
        thread = DaemonThreads.start(Thread::new, () -> run(waiters, poller), "holdfast-postgresql-listener");
        return false;
    }

    private boolean mayReceive() {
        return mayListen && (receivesOwn || clock.nanoTime() - checked >= CHECKED_NANOS);
    }

    @Override
    public boolean isListening() {
        return listening;
    }

    // After a failure the next connection may take another way, behind a pooler.
    private void run(WaiterRegistry waiters, WaitPoller poller) {
        boolean mustCheck = !receivesOwn;
        while (!mayEnd(waiters)) {
            try {
                SerialConnection otherConnection = work;
                if (mustCheck && otherConnection != null) {
                    check(source.open(), otherConnection);
                    if (!receivesOwn || closed) {
                        end();
                        return;
                    }
                }
                mustCheck = true;
                Connection connection = source.open();
                boolean broken = true;
                used = connection;
                try {
                    listen(connection, waiters, poller);
                    broken = false;
                } finally {
                    listening = false;
                    used = null;
                    end(connection, broken);
                }
            } catch (SQLException
                    | RuntimeException
                    | Error failed) { // also one of a driver or a listener: nobody would start another thread
                poller.lookNow();
                if (!closed) {
                    LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NANOS);
                }
            }
        }
    }

    private synchronized void end() {
        thread = null;
    }

    // A session that may still listen must not be given to anybody. If the server has gone, this is the first to
    // notice: the others check theirs.
    private void end(Connection connection, boolean broken) throws SQLException {
        if (broken) {
            source.broke();
            source.discard(connection);
        } else {
            source.giveBack(connection);
        }
    }

    private void listen(Connection connection, WaiterRegistry waiters, WaitPoller poller) throws SQLException {
        PGConnection ours = connection.unwrap(PGConnection.class);
        LockTable table = new LockTable(connection, dialect, ticketTtl, true, clock);
        Set<String> listened = new HashSet<>();
        try (Statement statement = connection.createStatement()) {
            listenTo(List.of(wakeUp), listened, statement);
            hasMoreChannels = true;
            long now = clock.nanoTime();
            long lastWait = now;
            while (!closed && now - lastWait < LINGER_NANOS) {
                if (hasMoreChannels) {
                    hasMoreChannels = false;
                    listenTo(channels, listened, statement);
                    listening = true;
                    // Notifications sent before LISTEN were missed, so the rows are read once.
                    poller.lookNow();
                }
                PGNotification[] received = ours.getNotifications(LISTEN_MILLIS);
                Map<LockName, List<Claim>> notified = notified(received, waiters);
                if (!notified.isEmpty()) {
                    look(table, notified, waiters);
                } else if (isSilent(received) && !waiters.isEmpty()) {
                    probe(connection);
                }
                if (channels.size() > MOST_CHANNELS) {
                    channels.retainAll(waiters.ofAll(PostgresNotifier::channel));
                }
                // A claim may have begun to wait while nothing was received.
                now = clock.nanoTime();
                lastWait = waiters.isEmpty() ? lastWait : now;
            }
            execute("UNLISTEN ", listened, statement);
        } finally {
            table.closeStatements();
        }
    }

    private static void listenTo(Collection<String> channels, Set<String> listened, Statement statement)
            throws SQLException {
        List<String> more =
                channels.stream().filter(channel -> !listened.contains(channel)).toList();
        execute("LISTEN ", more, statement);
        listened.addAll(more);
    }

    private static void execute(String command, Collection<String> channels, Statement statement) throws SQLException {
        if (!channels.isEmpty()) {
            statement.execute(
                    channels.stream().map(channel -> command + channel).collect(Collectors.joining(";")));
        }
    }

    private static boolean isSilent(PGNotification @Nullable [] received) {
        return received == null || received.length == 0;
    }

    // A network that drops connections without a word, as a firewall does with idle ones, looks like a database in
    // which nothing happens. TCP itself would notice after hours.
    private static void probe(Connection connection) throws SQLException {
        if (!connection.isValid(PROBE_SECONDS)) {
            throw new SQLNonTransientConnectionException("The connection for notifications leads nowhere");
        }
    }

    // Most notifications are of the new holder of a name, who needs nothing of the row but that.
    private void look(LockTable table, Map<LockName, List<Claim>> notified, WaiterRegistry waiters)
            throws SQLException {
        Map<LockName, ClaimId> single = new HashMap<>();
        Set<LockName> names = new HashSet<>();
        notified.forEach((name, claims) -> {
            if (claims.size() == 1 && claims.get(0).isExclusive()) {
                single.put(name, claims.get(0).id());
            } else {
                names.add(name);
            }
        });
        names.addAll(waiters.confirm(table, single));
        if (!names.isEmpty()) {
            waiters.look(table, names, ticketTtl, id -> {});
        }
    }

    private static Map<LockName, List<Claim>> notified(
            PGNotification @Nullable [] notifications, WaiterRegistry waiters) {
        Map<LockName, List<Claim>> notified = new HashMap<>();
        if (notifications != null) {
            for (PGNotification notification : notifications) {
                for (String id : notification.getParameter().split(" ", -1)) {
                    Claim claim = waiters.claim(id);
                    if (claim != null) {
                        notified.computeIfAbsent(claim.name(), name -> new ArrayList<>())
                                .add(claim);
                    }
                }
            }
        }
        return notified;
    }

    private synchronized boolean mayEnd(WaiterRegistry waiters) {
        if (closed || waiters.isEmpty()) {
            thread = null;
            return true;
        }
        return false;
    }

    // The listener's connection may be the user's. To wait for its next look at whether to end would take a
    // second, so its session is ended.
    @Override
    public void close() {
        closed = true;
        Thread running = running();
        Connection connection = used;
        if (connection != null) {
            try {
                connection.abort(Runnable::run);
            } catch (SQLException alreadyBroken) {
                listening = false;
            }
        }
        if (running != null) {
            LockSupport.unpark(running);
            try {
                running.join(LISTEN_MILLIS);
            } catch (InterruptedException keptForLater) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized @Nullable Thread running() {
        return thread;
    }
}
