package dev.holdfast.fence.jdbc;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.jdbc.PgBouncer;
import dev.holdfast.jdbc.PostgresServer;
import dev.holdfast.jdbc.Servers;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Fences through a pooler in transaction mode, where each transaction may get another session. */
class FenceBehindPoolerTest extends Servers {

    private static final int SESSIONS = 3;

    @Test
    void guardsWorkWithoutPreparedStatements() throws Exception {
        // A database of its own: a schema of its own would be a setting of the session.
        String database = "pooled" + System.nanoTime();
        PostgresServer.shared().run("public", "CREATE DATABASE " + database);
        String url = closing(PgBouncer.start(PostgresServer.shared(), SESSIONS)).url(database);
        JdbcFence fence = JdbcFence.standard().patience(Duration.ofMillis(300));
        run(
                url,
                "CREATE TABLE stock (sku text PRIMARY KEY, quantity int, fence bigint)",
                "INSERT INTO stock VALUES ('a', 1000, 0)");
        FencedTable stock = FencedTable.of("stock", "fence", "sku");
        try (Holdfast locks = Holdfast.connect(url + "&holdfast.serverPrepare=off");
                Connection connection = DriverManager.getConnection(url + "&prepareThreshold=0")) {
            fence.createTable(connection);
            connection.setAutoCommit(false);
            for (int i = 0; i < 20; i++) {
                try (Lease lease = locks.lock("a").acquire();
                        Lease several = locks.multiLock("c", "b").acquire()) {
                    fence.advance(connection, "a", lease.token());
                    stock.row("a").update(connection, lease.token(), "quantity = quantity - ?", 1);
                    fence.requireLive(connection, several);
                    fence.requireLive(connection, lease);
                    connection.commit();
                }
            }
            Lease over = locks.lock("a").acquire();
            over.release();
            Lease next = locks.lock("a").acquire();
            fence.advance(connection, "a", next.token());
            connection.commit();
            assertThatThrownBy(() -> fence.requireLive(connection, "a", over.token()))
                    .isInstanceOf(LockLostException.class);
            connection.rollback();
            assertThatThrownBy(() -> fence.advance(connection, "a", over.token()))
                    .isInstanceOf(LockLostException.class);
            connection.rollback();
            next.release();
        }
    }
}
