package dev.holdfast.jdbc;

import dev.holdfast.jdbc.adopted.AdoptedColumns;
import dev.holdfast.jdbc.adopted.AdoptedTable;
import dev.holdfast.jdbc.config.AdoptedLayout;
import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.BorrowedConnections;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.DatabaseUrl;
import dev.holdfast.jdbc.dialect.PostgresProduct;
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

    private static final String POSTGRESQL = "PostgreSQL";

    private ServerStoreFactory() {}

    static LockStore open(DatabaseUrl url, ServerOptions options, MonotonicClock clock) {
        ServerDialect dialect = url.dialect(options, true);
        ConnectionPool pool = pool(url, options, dialect);
        return open(options, clock, url.isPostgres() ? reached(dialect, url, options, pool) : dialect, pool);
    }

    static LockStore open(DatabaseUrl url, ServerOptions options, MonotonicClock clock, ServerDialect dialect) {
        return open(options, clock, dialect, pool(url, options, dialect));
    }

    private static ConnectionPool pool(DatabaseUrl url, ServerOptions options, ServerDialect dialect) {
        Duration timeout = options.store().busyTimeout();
        Duration statement = statementTimeout(timeout);
        return new ConnectionPool(
                url,
                url.properties(statement, timeout, options.serverPrepare()),
                options.all(dialect.canNotify() && options.listens()),
                timeout,
                statement,
                "holdfast-" + dialect.product());
    }

    // PostgreSQL's dialect, or that of another database which its driver reaches as well.
    private static ServerDialect reached(
            ServerDialect dialect, DatabaseUrl url, ServerOptions options, ConnectionPool pool) {
        boolean ready = false;
        try {
            String version = onOwnThread("holdfast-open", pool, () -> ask(pool, dialect, PostgresProduct::version));
            ServerDialect reached = url.dialect(options, version);
            ready = true;
            return reached;
        } finally {
            if (!ready) {
                pool.close();
            }
        }
    }

    private static LockStore open(
            ServerOptions options, MonotonicClock clock, ServerDialect dialect, ConnectionPool pool) {
        Duration statement = statementTimeout(options.store().busyTimeout());
        if (options.adopted() != null) {
            return adopt(dialect, pool, options, wiring(WaiterNotifier.NONE, options, statement, true), clock);
        }
        return open(
                dialect,
                pool,
                options,
                wiring(notifier(dialect, pool, options, clock), options, statement, true),
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
        ServerDialect dialect =
                url.isPostgres() ? url.dialect(options, product.version()) : url.dialect(options, false);
        if (options.adopted() != null) {
            return adopt(dialect, pool, options, wiring(WaiterNotifier.NONE, options, statement, false), clock);
        }
        WaiterNotifier notifier = notifier(dialect, pool, options, clock);
        return open(dialect, pool, options, wiring(notifier, options, statement, false), clock);
    }

    /**
     * A database, as its driver describes it.
     *
     * @param url the driver's, with what the user has written into it
     * @param version what a database that the driver calls PostgreSQL says of itself
     */
    private record Product(String name, String url, String version) {

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
                String name = described.getDatabaseProductName();
                String version = POSTGRESQL.equals(name) ? PostgresProduct.version(connection) : "";
                return new Product(name, String.valueOf(described.getURL()), version);
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
            case POSTGRESQL -> product.url().startsWith("jdbc:postgresql:") ? product.url() : "jdbc:postgresql:";
            case "MariaDB" -> "jdbc:mariadb:";
            case "MySQL" -> "jdbc:mysql:";
            default -> product.name();
        };
    }

    // The notifier's class needs the driver of PostgreSQL.
    static WaiterNotifier notifier(
            Dialect dialect, ConnectionSource source, ServerOptions options, MonotonicClock clock) {
        return dialect.canNotify() && options.notifies()
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
            AdoptedTable theirs = onOwnThread(
                    "holdfast-" + dialect.product() + "-open",
                    pool,
                    () -> ask(
                            pool, dialect, connection -> check(connection, dialect, pool.toString(), layout, options)));
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

    /** What is asked of a database before there is a store. */
    @FunctionalInterface
    private interface Question<T> {
        T ask(Connection connection) throws SQLException;
    }

    // No lock is touched, so a failure has no effect.
    private static <T> T ask(ConnectionSource pool, Dialect dialect, Question<T> question) {
        try {
            Connection connection = pool.open();
            try {
                return question.ask(connection);
            } finally {
                pool.giveBack(connection);
            }
        } catch (SQLException failure) {
            StoreException translated = dialect.failure(failure);
            throw translated.effect() == Effect.NONE
                    ? translated
                    : StoreException.unavailable(Effect.NONE, String.valueOf(translated.getMessage()), failure);
        }
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
