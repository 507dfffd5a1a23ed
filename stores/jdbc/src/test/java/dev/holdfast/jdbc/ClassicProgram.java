package dev.holdfast.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Set;

/**
 * A program that locks in a database as it is usually written by hand: it inserts a row and deletes it, or it sets a flag and
 * resets it. It knows nothing of leases, tokens and Holdfast.
 */
final class ClassicProgram implements AutoCloseable {

    static final String TABLE = "job_lock";

    private static final Set<String> DUPLICATE = Set.of("23505", "23000");

    private final Connection connection;
    private final boolean flags;

    /** @param layout {@code insert} or {@code flag} */
    ClassicProgram(String url, String layout) throws SQLException {
        this.connection = Servers.connect(url);
        this.flags = layout.equals("flag");
    }

    /** Makes the program's table. Returns what is added to the URL of ours. */
    static String makeTable(String url, String layout) {
        boolean flags = layout.equals("flag");
        Servers.run(
                url,
                "CREATE TABLE " + TABLE + " (name VARCHAR(100) NOT NULL PRIMARY KEY"
                        + (flags ? ", busy SMALLINT DEFAULT 0 NOT NULL)" : ")"));
        return "&holdfast.layout=" + layout + "&holdfast.theirTable=" + TABLE
                + (flags ? "&holdfast.flagColumn=busy" : "");
    }

    boolean tryLock(String name) throws SQLException {
        if (flags) {
            return 1 == run("UPDATE job_lock SET busy = 1 WHERE name = ? AND busy = 0", name);
        }
        try {
            return 1 == run("INSERT INTO job_lock (name) VALUES (?)", name);
        } catch (SQLException failure) {
            if (DUPLICATE.contains(failure.getSQLState())) {
                return false;
            }
            throw failure;
        }
    }

    boolean unlock(String name) throws SQLException {
        return 1
                == run(
                        flags
                                ? "UPDATE job_lock SET busy = 0 WHERE name = ? AND busy = 1"
                                : "DELETE FROM job_lock WHERE name = ?",
                        name);
    }

    /** Whether anybody has the lock, as this program sees it. */
    boolean isLocked(String name) throws SQLException {
        String sql = "SELECT 1 FROM job_lock" + ifHeld() + " AND name = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, name);
            return statement.executeQuery().next();
        }
    }

    /** The condition for the rows of held locks. */
    String ifHeld() {
        return " WHERE " + (flags ? "busy = 1" : "1 = 1");
    }

    /** Prepares a name, which such programs with flags do once. */
    void introduce(String name) throws SQLException {
        if (flags) {
            run("INSERT INTO job_lock (name, busy) VALUES (?, 0)", name);
        }
    }

    Connection connection() {
        return connection;
    }

    private int run(String sql, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, name);
            return statement.executeUpdate();
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
