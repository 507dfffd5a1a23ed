package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * Makes stores in a database over a pool that the program has already. {@link JdbcLockStoreProvider} and {@link
 * SqliteLockStoreProvider} make them by URL. The {@linkplain dev.holdfast.jdbc description of the package} says what
 * they guarantee.
 */
public final class JdbcLockStore {

    private JdbcLockStore() {}

    /** A store in the user's own pool, with the default options; see {@link #over(DataSource, String)}. */
    public static LockStore over(DataSource database) {
        return over(database, "");
    }

    /**
     * A store in the user's own pool. Each call borrows a connection on a thread of the store's, uses it in autocommit mode and
     * gives it back as it was; so locks never join a transaction of the user's, also if the DataSource gives the user's thread
     * the connection of its transaction. A connection that is seen to be in a transaction is refused. At most as many are borrowed at once as the option {@code connections}
     * says, one for renewals, one for what looks at many rows, and in PostgreSQL one that listens while somebody waits, however many threads wait. A pool that all threads of the program can empty while they wait
     * for locks must have these to spare, or renewals come too late. Closing the store does not close the pool.
     *
     * <p>Time limits are the pool's: let it wait for a connection for less than {@code storeTimeout}.
     *
     * @param database a pool of connections to one database
     * @param options as behind the question mark of a URL, without {@code holdfast.}: {@code keep=7d&schema=check}
     * @throws IllegalArgumentException if an option is wrong, or is missing for a database that Holdfast does not know
     * @throws StoreException if the database cannot be reached, or its tables are not as they must be
     */
    public static LockStore over(DataSource database, String options) {
        return ServerStoreFactory.over(
                Objects.requireNonNull(database, "database"), ServerOptions.parse(options), MonotonicClock.SYSTEM);
    }

    /**
     * The statements that create the tables in a database, for somebody to run who has the right to. Opens no
     * connection.
     *
     * @param url the URL of a store in a database, with a {@code jdbc:} driver
     */
    public static String ddl(String url) {
        return JdbcLockStoreProvider.ddl(url);
    }
}
