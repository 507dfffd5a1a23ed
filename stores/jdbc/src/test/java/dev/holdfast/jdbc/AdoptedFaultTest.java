package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The connection breaks before or after each request of an acquire and of a release, also after the commit. The program's table
 * and ours never differ, and what is repeated succeeds.
 */
class AdoptedFaultTest extends Servers {

    private static final LockName LOCK = new LockName("close-month");
    private static final Set<String> REQUESTS = Set.of("execute", "executeQuery", "executeUpdate", "commit");
    /** More requests than an acquire or a release has. */
    private static final int MOST = 30;

    /** How many requests pass until one fails; none does if it is negative. */
    private final AtomicInteger passing = new AtomicInteger(-1);

    private boolean isLost;

    @ParameterizedTest
    @CsvSource({"h2,insert", "postgresql,insert", "postgresql,flag", "mariadb,insert", "mariadb,flag"})
    void bothTablesAgreeWhereverTheConnectionBreaks(String product, String layout) throws SQLException {
        String url = url(product);
        String options = ClassicProgram.makeTable(url, layout);
        ClassicProgram theirs = closing(new ClassicProgram(url, layout));
        theirs.introduce(LOCK.value());
        LockStore direct = open(url + options);
        LockStore store = closing(JdbcLockStore.over(
                breaking(url), options.replace("&holdfast.", "&").substring(1)));
        for (boolean lost : new boolean[] {true, false}) {
            isLost = lost;
            int requests = 0;
            boolean all = false;
            while (!all) {
                assertThat(requests).isLessThan(MOST);
                Claim claim = alice.mutex(LOCK);
                boolean acquired = runs(requests, () -> granted(store, claim));
                agree(url, theirs);
                // The server may not have noticed yet that the connection is gone, and keeps the rows until then.
                awaitUntil(() -> get(direct.tryAcquire(claim.again())) instanceof Granted);
                assertThat(theirs.tryLock(LOCK.value())).isFalse();
                boolean released = runs(requests, () -> released(store, claim));
                agree(url, theirs);
                repaired(() -> released(direct, claim.again()));
                assertThat(theirs.tryLock(LOCK.value())).isTrue();
                assertThat(repaired(() -> released(direct, claim.again()))).isFalse();
                assertThat(theirs.unlock(LOCK.value())).as("theirs is left").isTrue();
                all = acquired && released;
                requests++;
            }
            // MariaDB's session is told how long to wait, and then again as before; PostgreSQL once, in a transaction
            // for a read.
            assertThat(requests - 1).as("requests of an acquire").isEqualTo(product.equals("h2") ? 6 : 8);
        }
    }

    // Whether nothing failed.
    private boolean runs(int requests, Runnable call) {
        passing.set(requests);
        try {
            call.run();
            return passing.get() >= 0;
        } catch (StoreException failure) {
            assertThat(failure.retryable()).isTrue();
            return false;
        } finally {
            passing.set(-1);
        }
    }

    private static void agree(String url, ClassicProgram theirs) throws SQLException {
        try (Connection connection = connect(url);
                Statement statement = connection.createStatement()) {
            // A server that has got a commit may still be at it: both are read by one statement.
            String held = "SELECT COUNT(*) FROM job_lock_holdfast WHERE holder <> '-'";
            try (ResultSet rows = statement.executeQuery(
                    "SELECT (" + held + "), (SELECT COUNT(*) FROM job_lock" + theirs.ifHeld() + ")")) {
                rows.next();
                assertThat(rows.getInt(1)).isEqualTo(rows.getInt(2));
            }
        }
    }

    private DataSource breaking(String url) {
        return proxy(DataSource.class, (method, arguments) -> {
            if (!method.getName().equals("getConnection")) {
                throw new UnsupportedOperationException(method.getName());
            }
            Connection connection = connect(url);
            return proxy(Connection.class, (called, given) -> {
                Object result = request(connection, connection, called, given);
                return called.getName().equals("prepareStatement")
                        ? proxy(
                                PreparedStatement.class,
                                (run, with) -> request(connection, (PreparedStatement) result, run, with))
                        : result;
            });
        });
    }

    private Object request(Connection connection, Object target, Method method, Object[] arguments) throws Throwable {
        // What is swept comes at any time.
        boolean counts = REQUESTS.contains(method.getName())
                && !Thread.currentThread().getName().endsWith("-sweeper");
        boolean breaks = counts && passing.getAndUpdate(n -> Math.max(-1, n - 1)) == 0;
        if (breaks && isLost) {
            throw broken(connection);
        }
        Object result = CountingSource.invoke(target, method, arguments);
        if (breaks) {
            throw broken(connection);
        }
        return result;
    }

    private static SQLException broken(Connection connection) throws SQLException {
        connection.abort(Runnable::run);
        return new SQLException("the connection broke", "08006");
    }

    /** What a proxy does. */
    @FunctionalInterface
    private interface Call {
        Object run(Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, Call call) {
        return type.cast(Proxy.newProxyInstance(
                AdoptedFaultTest.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> call.run(method, arguments)));
    }
}
