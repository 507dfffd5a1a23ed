package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.BorrowedConnections;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.jdbc.waiting.PollSchedule;
import dev.holdfast.jdbc.waiting.PostgresNotifier;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import javax.sql.DataSource;

/** How a store in a database that is reached through a pool is put together, and its tables looked at. */
final class ServerStoreFactory {

    private ServerStoreFactory() {}

    static RowLockStore open(DatabaseUrl url, ServerOptions options, MonotonicClock clock) {
        ServerDialect dialect = url.dialect(options);
        Duration timeout = options.store().busyTimeout();
        Duration statement = statementTimeout(timeout);
        int lanes = options.connections() + 1 + (options.notifies() ? 1 : 0);
        ConnectionPool pool = new ConnectionPool(
                url,
                url.properties(statement, timeout, options.serverPrepare()),
                lanes,
                timeout,
                "holdfast-" + dialect.product());
        return open(dialect, pool, options, wiring(pool, options, statement), clock);
    }

    /** Over the user's own pool. */
    static RowLockStore over(DataSource database, ServerOptions options, MonotonicClock clock) {
        Duration statement = statementTimeout(options.store().busyTimeout());
        BorrowedConnections pool = new BorrowedConnections(database, statement);
        String product = product(pool);
        if (product.equals("H2") && options.clock() == null) {
            return H2StoreFactory.over(pool, options, clock);
        }
        ServerDialect dialect = new DatabaseUrl(url(product), pool + ", a " + product).dialect(options);
        return open(dialect, pool, options, wiring(pool, options, statement), clock);
    }

    /** What a database says it is; the driver of MySQL says so of MariaDB as well. */
    private static String product(BorrowedConnections pool) {
        try {
            Connection connection = pool.open();
            try {
                return connection.getMetaData().getDatabaseProductName();
            } finally {
                pool.giveBack(connection);
            }
        } catch (SQLException failure) {
            throw StoreException.unavailable(
                    Effect.NONE, pool + " gives no connection: " + failure.getMessage(), failure);
        }
    }

    // What the URL of such a database begins with, which says which dialect it speaks.
    private static String url(String product) {
        return switch (product) {
            case "PostgreSQL" -> "jdbc:postgresql:";
            case "MariaDB" -> "jdbc:mariadb:";
            case "MySQL" -> "jdbc:mysql:";
            default -> product;
        };
    }

    static StoreWiring wiring(ConnectionSource source, ServerOptions options, Duration statement) {
        WaiterNotifier wakeup = options.notifies() ? new PostgresNotifier(source) : WaiterNotifier.NONE;
        return new StoreWiring(
                true, options.connections() > 1, statement, new PollSchedule.Rows(options.notifies()), wakeup);
    }

    /** Whole seconds, because some drivers know no other: half of what a call may wait for its turn, and at least one. */
    static Duration statementTimeout(Duration busyTimeout) {
        return Duration.ofSeconds((busyTimeout.toMillis() + 1_999) / 2_000);
    }

    static RowLockStore open(
            Dialect dialect, ConnectionSource pool, ServerOptions options, StoreWiring wiring, MonotonicClock clock) {
        RowLockStore store = new RowLockStore(dialect, pool, options.store(), wiring, clock);
        boolean ready = false;
        // On a thread that nobody interrupts.
        try (BlockingCalls first = new BlockingCalls("holdfast-" + dialect.product() + "-open", 1, false)) {
            TableSchema schema = new TableSchema(dialect, pool.toString());
            CompletionStage<Boolean> started = first.call(() -> {
                store.start(statements -> {
                    schema.ensure(statements.connection(), options.schema());
                    dialect.start(statements);
                });
                return true;
            });
            ready = started.toCompletableFuture().join();
            return store;
        } catch (CompletionException failure) {
            throw failure.getCause() instanceof StoreException ours
                    ? ours
                    : StoreException.unavailable(Effect.NONE, pool + " cannot be opened: " + failure, failure);
        } finally {
            if (!ready) {
                store.close();
            }
        }
    }
}
