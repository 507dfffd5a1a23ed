package dev.holdfast.jdbc;

import dev.holdfast.jdbc.adopted.AdoptedColumns;
import dev.holdfast.jdbc.adopted.AdoptedTable;
import dev.holdfast.jdbc.config.AdoptedLayout;
import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.BorrowedConnections;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTables;
import dev.holdfast.jdbc.schema.AdoptedSchema;
import dev.holdfast.jdbc.schema.TableSchema;
import dev.holdfast.jdbc.waiting.PostgresNotifier;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.BlockingCalls;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import javax.sql.DataSource;

/** Creates a store in a database that is reached through a pool, and has its tables checked. */
final class ServerStoreFactory {

    private ServerStoreFactory() {}

    static LockStore open(DatabaseUrl url, ServerOptions options, MonotonicClock clock) {
        return open(url, options, clock, url.dialect(options, true));
    }

    static LockStore open(DatabaseUrl url, ServerOptions options, MonotonicClock clock, ServerDialect dialect) {
        Duration timeout = options.store().busyTimeout();
        Duration statement = statementTimeout(timeout);
        ConnectionPool pool = new ConnectionPool(
                url,
                url.properties(statement, timeout, options.serverPrepare()),
                options.all(url.isPostgres() && options.listens()),
                timeout,
                statement,
                "holdfast-" + dialect.product());
        if (options.adopted() != null) {
            return adopt(dialect, pool, options, wiring(WaiterNotifier.NONE, options, statement, true), clock);
        }
        return open(
                dialect,
                pool,
                options,
                wiring(notifier(url, dialect, pool, options, clock), options, statement, true),
                clock);
    }

    /**
     * Creates a store over the user's own pool. Calls run on the store's threads: a pool may give the caller's thread the
     * connection of the transaction that is open there.
     */
    static LockStore over(DataSource database, ServerOptions options, MonotonicClock clock) {
        Duration statement = statementTimeout(options.store().busyTimeout());
        BorrowedConnections pool = new BorrowedConnections(database, statement);
        Product product = onOwnThread("holdfast-open", pool, () -> product(pool));
        if (product.name().equals("H2") && options.clock() == null) {
            return H2StoreFactory.over(pool, options, clock);
        }
        DatabaseUrl url = new DatabaseUrl(url(product), pool + ", a " + product.name());
        ServerDialect dialect = url.dialect(options, false);
        if (options.adopted() != null) {
            return adopt(dialect, pool, options, wiring(WaiterNotifier.NONE, options, statement, false), clock);
        }
        WaiterNotifier notifier = notifier(url, dialect, pool, options, clock);
        return open(dialect, pool, options, wiring(notifier, options, statement, false), clock);
    }

    /** A database, as its driver describes it. The URL is the driver's, with what the user has written into it. */
    private record Product(String name, String url) {

        /** Without the URL, which may have a password. */
        @Override
        public String toString() {
            return name;
        }
    }

    /**
     * The product name that the database reports. The driver of MySQL reports MySQL for a MariaDB server as well.
     */
    private static Product product(BorrowedConnections pool) {
        try {
            Connection connection = pool.open();
            try {
                DatabaseMetaData described = connection.getMetaData();
                return new Product(described.getDatabaseProductName(), String.valueOf(described.getURL()));
            } finally {
                pool.giveBack(connection);
            }
        } catch (SQLException failure) {
            throw StoreException.unavailable(
                    Effect.NONE, pool + " gives no connection: " + failure.getMessage(), failure);
        }
    }

    // The beginning of a URL of such a database, from which the dialect is chosen. That of PostgreSQL also says whether
    // there are several servers.
    private static String url(Product product) {
        return switch (product.name()) {
            case "PostgreSQL" -> product.url().startsWith("jdbc:postgresql:") ? product.url() : "jdbc:postgresql:";
            case "MariaDB" -> "jdbc:mariadb:";
            case "MySQL" -> "jdbc:mysql:";
            default -> product.name();
        };
    }

    // The notifier's class needs the driver of PostgreSQL.
    static WaiterNotifier notifier(
            DatabaseUrl url, Dialect dialect, ConnectionSource source, ServerOptions options, MonotonicClock clock) {
        return url.isPostgres() && options.notifies()
                ? new PostgresNotifier(source, dialect, options.store().ticketTtl(), clock, options.listens())
                : WaiterNotifier.NONE;
    }

    static StoreWiring wiring(
            WaiterNotifier notifier, ServerOptions options, Duration statement, boolean callerMayWork) {
        return new StoreWiring(callerMayWork, options.lanes(), options.ownPolls(), statement, notifier);
    }

    /**
     * The time limit of a statement: half of the time that a call may wait, at least one second. In whole seconds,
     * because some drivers take no other.
     */
    static Duration statementTimeout(Duration busyTimeout) {
        return Duration.ofSeconds((busyTimeout.toMillis() + 1_999) / 2_000);
    }

    static RowLockStore open(
            Dialect dialect, ConnectionSource pool, ServerOptions options, StoreWiring wiring, MonotonicClock clock) {
        dialect.keepIn(LockTables.of(options.lockTable()));
        RowLockStore store = new RowLockStore(dialect, pool, options.store(), wiring, clock);
        boolean ready = false;
        try {
            TableSchema schema = new TableSchema(dialect, pool.toString());
            ready = onOwnThread("holdfast-" + dialect.product() + "-open", pool, () -> {
                store.start(statements -> {
                    schema.ensure(statements.connection(), options.schema());
                    dialect.start(statements);
                });
                return true;
            });
            return store;
        } finally {
            if (!ready) {
                store.close();
            }
        }
    }

    /** Creates a store that shares its locks with the programs whose table the options describe. */
    static AdoptedLockStore adopt(
            Dialect dialect, ConnectionSource pool, ServerOptions options, StoreWiring wiring, MonotonicClock clock) {
        AdoptedLayout layout = Objects.requireNonNull(options.adopted());
        dialect.keepIn(LockTables.of(options.lockTable()).withoutNode());
        boolean ready = false;
        try {
            AdoptedTable theirs = onOwnThread("holdfast-" + dialect.product() + "-open", pool, () -> {
                try {
                    Connection connection = pool.open();
                    try {
                        return check(connection, dialect, pool.toString(), layout, options);
                    } finally {
                        pool.giveBack(connection);
                    }
                } catch (SQLException failure) {
                    throw dialect.failure(failure);
                }
            });
            AdoptedLockStore store = new AdoptedLockStore(dialect, pool, theirs, options.store(), wiring, clock);
            store.start();
            ready = true;
            return store;
        } finally {
            if (!ready) {
                pool.close();
            }
        }
    }

    // Their table first: if it cannot be shared, none is made beside it.
    private static AdoptedTable check(
            Connection connection, Dialect dialect, String where, AdoptedLayout layout, ServerOptions options)
            throws SQLException {
        AdoptedColumns columns = AdoptedSchema.read(connection, dialect, where, layout);
        new TableSchema(dialect, where).ensure(connection, options.schema());
        try (LockStatements statements = new LockStatements(connection, dialect, false)) {
            dialect.start(statements);
        }
        return new AdoptedTable(layout, columns, dialect);
    }

    // On a thread that nobody interrupts, and to which no transaction of the program's is bound.
    private static <T> T onOwnThread(String name, ConnectionSource pool, Supplier<T> call) {
        try (BlockingCalls thread = new BlockingCalls(name, 1, false)) {
            return thread.call(call).toCompletableFuture().join();
        } catch (CompletionException failure) {
            throw failure.getCause() instanceof StoreException ours
                    ? ours
                    : StoreException.unavailable(Effect.NONE, pool + " cannot be opened: " + failure, failure);
        }
    }
}
