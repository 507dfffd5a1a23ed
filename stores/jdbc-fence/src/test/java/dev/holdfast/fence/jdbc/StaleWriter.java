package dev.holdfast.fence.jdbc;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * Another process that takes 10 from an account under a lock, as a careful program does: it reads, looks whether it
 * still holds the lock, and writes. It can stop and wait for a command before it writes ({@code checked}) and before
 * it commits ({@code guarded}): that is where a test freezes it.
 */
final class StaleWriter {

    static final String LOCK = "account:1";

    private static final int MOST_TRIES = 10;

    private StaleWriter() {}

    /** How the write is guarded. */
    enum Guard {
        /** Not at all. */
        NONE,
        /** The token is compared in the row that is written. */
        TABLE,
        /** The token is compared in the table of fences. */
        ADVANCE,
        /** The claim must be live by the database's clock; the local clock is not used. */
        LIVE_CLAIM,
        /** The lease must be live by both clocks. */
        LIVE_LEASE;

        private static final FencedTable ACCOUNTS = FencedTable.of("account", "fence", "id");
        private static final JdbcFence FENCE = JdbcFence.standard();

        /** Writes the balance within the connection's transaction. */
        void write(Connection connection, Lease lease, long balance) throws SQLException {
            if (this == TABLE) {
                ACCOUNTS.row(1).update(connection, lease.token(), "balance = ?", balance);
                return;
            }
            switch (this) {
                case ADVANCE -> FENCE.advance(connection, LOCK, lease.token());
                case LIVE_CLAIM -> FENCE.requireLive(connection, LOCK, lease.token());
                case LIVE_LEASE -> FENCE.requireLive(connection, lease);
                default -> {}
            }
            try (PreparedStatement update =
                    connection.prepareStatement("UPDATE account SET balance = ? WHERE id = 1")) {
                update.setLong(1, balance);
                update.executeUpdate();
            }
        }
    }

    static long balance(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT balance FROM account WHERE id = 1")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** Arguments: URL of the store, URL of the database, guard, lease in milliseconds. */
    public static void main(String[] arguments) throws Exception {
        Guard guard = Guard.valueOf(arguments[2]);
        LockOptions options = LockOptions.defaults()
                .withFixedLease(Duration.ofMillis(Long.parseLong(arguments[3])))
                .withStoreTimeout(Duration.ofSeconds(1));
        try (Holdfast locks = Holdfast.connect(arguments[0]);
                Connection connection = DriverManager.getConnection(arguments[1]);
                BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            rehearse(locks, connection, guard);
            DistributedLock lock = locks.lock(LOCK, options);
            Lease lease = lock.acquire();
            long seen = balance(connection);
            // Even so it may be paused for longer than the lease. Then it begins anew.
            for (int tries = 1; !lease.isValid() && tries < MOST_TRIES; tries++) {
                lease = lock.acquire();
                seen = balance(connection);
            }
            say(lease.isValid() ? "checked " + lease.token() : "too late");
            orders.readLine();
            connection.setAutoCommit(false);
            try {
                guard.write(connection, lease, seen - 10);
                say("guarded");
                orders.readLine();
                connection.commit();
                say("written");
            } catch (LockException refused) {
                connection.rollback();
                say("refused " + refused.getClass().getSimpleName() + ": " + refused.getMessage());
            }
            release(lease);
        }
    }

    // The first steps of a JVM can take longer than the lease. This one is renewed.
    private static void rehearse(Holdfast locks, Connection connection, Guard guard) throws Exception {
        connection.setAutoCommit(false);
        try (Lease lease = locks.lock(LOCK).acquire()) {
            guard.write(connection, lease, balance(connection));
            connection.rollback();
        }
        connection.setAutoCommit(true);
    }

    private static void release(Lease lease) throws IOException {
        try {
            lease.release();
        } catch (LockException lost) {
            say("lost");
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
