package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * The simplest lock in a database, by prepared statements on a connection for each thread. {@code floor}: one upsert
 * and one update, each its own transaction; it does not wait. {@code floor-advisory}: the database's own session
 * locks, which live in its memory and wait in its queue.
 */
public final class JdbcFloor implements Subject {

    private static final String POSTGRES =
            "INSERT INTO floor_lock (name, owner, until) VALUES (?, ?, clock_timestamp() +"
                    + " interval '30 s') ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
                    + " WHERE floor_lock.until <= clock_timestamp()";
    private static final String SQLITE =
            "INSERT INTO floor_lock (name, owner, until) VALUES (?, ?, unixepoch('subsec') + 30)"
                    + " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
                    + " WHERE floor_lock.until <= unixepoch('subsec')";
    private static final String MARIADB = "INSERT INTO floor_lock (name, owner, until) VALUES (?, ?, UTC_TIMESTAMP(6) +"
            + " INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE"
            + " owner = IF(until <= UTC_TIMESTAMP(6), VALUES(owner), owner),"
            + " until = IF(owner = VALUES(owner), VALUES(until), until)";

    private final PerThread<Session> sessions;
    private final boolean advisory;

    public JdbcFloor(String url, boolean advisory) {
        this.advisory = advisory;
        this.sessions = new PerThread<>(() -> new Session(url, advisory));
    }

    /** Makes the tables that floors and peers need. Call it once, before any of them connects. */
    public static void makeTables(String url) throws SQLException {
        boolean maria = url.startsWith("jdbc:mariadb:");
        String time = maria ? "DATETIME(6)" : url.startsWith("jdbc:sqlite:") ? "REAL" : "TIMESTAMPTZ";
        String plain = maria ? "DATETIME(6)" : "TIMESTAMP";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            if (url.startsWith("jdbc:sqlite:")) {
                statement.execute("PRAGMA journal_mode=WAL");
            }
            statement.execute(
                    "CREATE TABLE floor_lock (name VARCHAR(255) PRIMARY KEY, owner VARCHAR(64) NOT NULL, until " + time
                            + " NOT NULL)");
            // The tables that the documentation of ShedLock and of Spring Integration gives.
            statement.execute("CREATE TABLE shedlock (name VARCHAR(64) NOT NULL, lock_until " + plain
                    + " NOT NULL, locked_at " + plain
                    + " NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
            statement.execute("CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL,"
                    + " CLIENT_ID CHAR(36), CREATED_DATE " + plain + " NOT NULL, EXPIRED_AFTER " + plain
                    + " NOT NULL, CONSTRAINT INT_LOCK_PK PRIMARY KEY (LOCK_KEY, REGION))");
        }
    }

    private static final class Session implements AutoCloseable {
        private final Connection connection;
        private final PreparedStatement acquire;
        private final PreparedStatement release;

        Session(String url, boolean advisory) throws SQLException {
            boolean maria = url.startsWith("jdbc:mariadb:");
            connection = DriverManager.getConnection(maria ? url + "&useServerPrepStmts=true" : url);
            if (advisory) {
                acquire = connection.prepareStatement(
                        maria ? "SELECT GET_LOCK(?, 100)" : "SELECT pg_advisory_lock(hashtextextended(?, 0))");
                release = connection.prepareStatement(
                        maria ? "SELECT RELEASE_LOCK(?)" : "SELECT pg_advisory_unlock(hashtextextended(?, 0))");
                return;
            }
            if (url.startsWith("jdbc:sqlite:")) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute("PRAGMA synchronous=NORMAL");
                    statement.execute("PRAGMA busy_timeout=60000");
                }
            }
            String now = maria
                    ? "UTC_TIMESTAMP(6)"
                    : url.startsWith("jdbc:sqlite:") ? "unixepoch('subsec')" : "clock_timestamp()";
            acquire = connection.prepareStatement(maria ? MARIADB : url.startsWith("jdbc:sqlite:") ? SQLITE : POSTGRES);
            release = connection.prepareStatement(
                    "UPDATE floor_lock SET until = " + now + " WHERE name = ? AND owner = ? AND until > " + now);
        }

        @Override
        public void close() throws SQLException {
            connection.close();
        }
    }

    @Override
    public Section mutex(String name) {
        return advisory ? sessionLock(name) : row(name);
    }

    private Section row(String name) {
        String owner = java.util.UUID.randomUUID().toString();
        return new Section() {
            @Override
            public void enter() throws SQLException {
                PreparedStatement acquire = sessions.get().acquire;
                acquire.setString(1, name);
                acquire.setString(2, owner);
                if (acquire.executeUpdate() == 0) {
                    throw new IllegalStateException(name + " is not free");
                }
            }

            @Override
            public void leave() throws SQLException {
                PreparedStatement release = sessions.get().release;
                release.setString(1, name);
                release.setString(2, owner);
                if (release.executeUpdate() != 1) {
                    throw new IllegalStateException(name + " was lost");
                }
            }
        };
    }

    private Section sessionLock(String name) {
        return new Section() {
            @Override
            public void enter() throws SQLException {
                Session session = sessions.get();
                session.acquire.setString(1, name);
                session.acquire.executeQuery().close();
            }

            @Override
            public void leave() throws SQLException {
                Session session = sessions.get();
                session.release.setString(1, name);
                session.release.executeQuery().close();
            }
        };
    }

    @Override
    public void close() throws Exception {
        sessions.close();
    }
}
