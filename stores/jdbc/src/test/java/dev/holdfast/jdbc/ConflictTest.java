package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Serialization failures, deadlocks, and transactions that MySQL's group replication undoes: they are tried again, a bounded
 * number of times. Our statements hardly ever meet a real one, since they wait for no row; so a trigger in the table makes the
 * server raise its error while they write.
 */
class ConflictTest extends Servers {

    private static final int WRITES_OF_A_CALL = LockTable.MAX_RACES + 2;

    private final LockName name = new LockName("a");
    private String url;

    // What a sequence gave is not taken back with the transaction, so it counts the failures.
    private void open(String product, String error, int failures) {
        url = url(product);
        open(url).close();
        if (isPostgres(product)) {
            run(
                    url,
                    "CREATE SEQUENCE failures",
                    "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('failures') <= "
                            + failures + " THEN RAISE EXCEPTION 'not now' USING ERRCODE = '" + error
                            + "'; END IF; RETURN NEW; END $$",
                    "CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON holdfast_lock FOR EACH ROW EXECUTE FUNCTION fail()");
        } else {
            String body = " ON holdfast_lock FOR EACH ROW IF NEXT VALUE FOR failures <= " + failures
                    + " THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = " + error + ", MESSAGE_TEXT = 'not now'; END IF";
            run(
                    url,
                    "CREATE SEQUENCE failures CACHE 0",
                    "CREATE TRIGGER fail_insert BEFORE INSERT" + body,
                    "CREATE TRIGGER fail_update BEFORE UPDATE" + body);
        }
    }

    private static boolean isPostgres(String product) {
        return !product.startsWith("m");
    }

    private void failAgain(String product) {
        run(url, isPostgres(product) ? "ALTER SEQUENCE failures RESTART" : "ALTER SEQUENCE failures RESTART 1");
    }

    private long writes(String product) throws SQLException {
        String query = isPostgres(product)
                ? "SELECT last_value FROM failures"
                : "SELECT next_not_cached_value - 1 FROM failures";
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "postgresql,40001",
        "postgresql,40P01",
        "cockroachdb,40001",
        "yugabytedb,40001",
        "mariadb,1213",
        "mysql,1213",
        "mysql,3101"
    })
    void conflictsAreTriedAgain(String product, String error) {
        open(product, error, 4);
        LockStore store = open(url);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        failAgain(product);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        failAgain(product);
        waiting(store, bob.mutex(name));
        failAgain(product);
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
        failAgain(product);
        List<Claim> several = List.of(alice.mutex(new LockName("c")), alice.mutex(new LockName("b")));
        assertThat(get(store.tryAcquireAll(several))).allMatch(Granted.class::isInstance);
        failAgain(product);
        several.forEach(each -> assertThat(get(store.release(each)).wasOwner()).isTrue());
    }

    @ParameterizedTest
    @CsvSource({"postgresql,40001", "postgresql,40P01", "cockroachdb,40001", "mariadb,1213", "mysql,1213", "mysql,3101"
    })
    void conflictsWithoutEndAreGivenUpWithoutEffect(String product, String error) throws SQLException {
        open(product, error, Integer.MAX_VALUE);
        LockStore store = open(url);
        gaveUp(failure(store.tryAcquire(alice.mutex(name))));
        assertThat(writes(product)).as("writes that were tried").isBetween(2L, (long) WRITES_OF_A_CALL);
        gaveUp(failure(store.tryAcquireAll(List.of(alice.mutex(new LockName("b")), alice.mutex(new LockName("c"))))));
        assertThat(writes(product)).isLessThanOrEqualTo(2 * WRITES_OF_A_CALL);
        assertThat(get(store.list("", 10))).isEmpty();
        assertThat(get(store.inspect(name))).isEmpty();
    }

    /** Group replication undoes a transaction when it commits, because that of another member came first. */
    @Test
    void commitThatTheServerUndoesIsTriedAgain() {
        AtomicInteger commits = new AtomicInteger();
        LockStore store = closing(JdbcLockStore.over(new DriverManagerDataSource(url("mysql")) {
            @Override
            public Connection getConnection() throws SQLException {
                return undoing(super.getConnection(), commits);
            }
        }));
        commits.set(0);
        List<Claim> several = List.of(alice.mutex(new LockName("c")), alice.mutex(new LockName("b")));
        assertThat(get(store.tryAcquireAll(several))).allMatch(Granted.class::isInstance);
        assertThat(commits).hasValue(2);
        several.forEach(each -> assertThat(get(store.release(each)).wasOwner()).isTrue());
    }

    private static Connection undoing(Connection connection, AtomicInteger commits) {
        return (Connection) Proxy.newProxyInstance(
                ConflictTest.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("commit") && commits.incrementAndGet() == 1) {
                        connection.rollback();
                        throw new SQLException("Plugin instructed the server to rollback", "40000", 3101);
                    }
                    return method.invoke(connection, arguments);
                });
    }

    private static void gaveUp(StoreException failure) {
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure).hasMessageContaining("changed by other clients each time");
    }
}
