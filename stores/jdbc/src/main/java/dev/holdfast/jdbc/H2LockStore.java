package dev.holdfast.jdbc;

import dev.holdfast.spi.BlockingCalls;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.h2.jdbcx.JdbcDataSource;

/** How a store in H2 is put together. Apart from the provider, so that H2 need not be there for other URLs. */
final class H2LockStore {

    private H2LockStore() {}

    static JdbcLockStore open(String url, String shown, StoreOptions options, MonotonicClock clock) {
        return open(url, shown, options, clock, new H2Dialect(shown));
    }

    static JdbcLockStore open(String url, String shown, StoreOptions options, MonotonicClock clock, H2Dialect dialect) {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL(url);
        ConnectionPool pool = new ConnectionPool(database, shown, options.busyTimeout(), "holdfast-h2");
        return open(dialect, pool, options, clock);
    }

    static JdbcLockStore open(H2Dialect dialect, ConnectionSource pool, StoreOptions options, MonotonicClock clock) {
        // H2 closes its file when a thread is interrupted in the middle of a call, so no caller's thread makes one.
        JdbcLockStore store = new JdbcLockStore(dialect, pool, options, new PollPace.Rows(), clock, false, false);
        boolean ready = false;
        try (BlockingCalls first = new BlockingCalls("holdfast-h2-open", 1, false)) {
            TableSchema schema = new TableSchema(dialect, pool.toString());
            CompletionStage<Boolean> started = first.call(() -> {
                store.start(statements -> {
                    schema.ensure(statements.connection());
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
