package dev.holdfast.jdbc.connection;

import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.h2.jdbc.JdbcConnection;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

class ConnectionPoolTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** With the flag set, each wait would end at once, and be begun again. */
    @Test
    void interruptedThreadGoesOnWaitingForAConnectionWithoutItsFlag() throws Exception {
        CountDownLatch reachable = new CountDownLatch(1);
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:interrupted");
        try (ConnectionPool pool = new ConnectionPool(slow(h2, reachable), "SELECT 1", 1, "h2", TIMEOUT, "test")) {
            CompletableFuture<Connection> opened = new CompletableFuture<>();
            AtomicBoolean flag = new AtomicBoolean();
            Thread caller = new Thread(() -> {
                Thread.currentThread().interrupt();
                try {
                    opened.complete(pool.open());
                } catch (Exception failure) {
                    opened.completeExceptionally(failure);
                }
                flag.set(Thread.currentThread().isInterrupted());
            });
            caller.start();
            awaitUntil(() -> caller.getState() == Thread.State.TIMED_WAITING && !caller.isInterrupted());
            reachable.countDown();
            pool.giveBack(opened.get());
            caller.join();
            assertThat(flag).isTrue();
        }
    }

    /** The others that were opened before lead to the same server; what a call that was slow to fail says of newer ones is not so. */
    @Test
    void ifTheServerIsAnotherOneConnectionsOfBeforeEndAndNewerOnesStay() throws SQLException {
        JdbcDataSource h2 = new JdbcDataSource();
        h2.setURL("jdbc:h2:mem:discarded");
        try (ConnectionPool pool = new ConnectionPool(h2, "SELECT 1", 3, "h2", TIMEOUT, "test")) {
            Connection wrong = pool.open();
            Connection slow = pool.open();
            Connection other = pool.open();
            JdbcConnection ofBefore = other.unwrap(JdbcConnection.class);
            pool.discardAll(wrong, 0);
            assertThat(pool.discards()).isEqualTo(1);
            pool.giveBack(other);
            awaitUntil(() -> isClosed(ofBefore));

            Connection newer = pool.open();
            JdbcConnection ofAfter = newer.unwrap(JdbcConnection.class);
            pool.discardAll(slow, 0);
            assertThat(pool.discards()).isEqualTo(1);
            pool.giveBack(newer);
            assertThat(ofAfter.isClosed()).isFalse();
        }
    }

    private static boolean isClosed(Connection connection) {
        try {
            return connection.isClosed();
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    private static DataSource slow(DataSource database, CountDownLatch reachable) {
        return (DataSource) Proxy.newProxyInstance(
                ConnectionPoolTest.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("getConnection")) {
                        reachable.await();
                    }
                    return method.invoke(database, arguments);
                });
    }
}
