package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.JdbcLockStoreProvider;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A database whose driver we do not know, and so have no properties for: its server may vanish without a word, too. */
class NetworkTimeoutTest {

    private static final String URL = "jdbc:unknown:timeout?holdfast.busyTimeout=6s&holdfast.clock="
            + "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)";

    /** The time limits, in milliseconds, at which statements were prepared. */
    private final Set<Integer> limits = ConcurrentHashMap.newKeySet();

    private boolean isSupported = true;
    private final Driver driver = driver();

    @BeforeEach
    void register() throws SQLException {
        DriverManager.registerDriver(driver);
    }

    @AfterEach
    void deregister() throws SQLException {
        DriverManager.deregisterDriver(driver);
    }

    @Test
    void isSetForADriverThatIsNotKnown() {
        open().close();
        assertThat(limits).containsExactly(3_000);
    }

    @Test
    void aDriverWithoutItCanBeUsed() {
        isSupported = false;
        open().close();
        assertThat(limits).containsExactly(0);
    }

    private static LockStore open() {
        return new JdbcLockStoreProvider().open(URL, MonotonicClock.SYSTEM);
    }

    private Driver driver() {
        return (Driver) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Driver.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "acceptsURL" -> ((String) arguments[0]).startsWith("jdbc:unknown:");
                    case "connect" ->
                        ((String) arguments[0]).startsWith("jdbc:unknown:")
                                ? connection(new org.h2.Driver().connect("jdbc:h2:mem:timeout", new Properties()))
                                : null;
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "toString" -> "the driver of " + URL;
                    default -> 0;
                });
    }

    private Connection connection(Connection connection) {
        AtomicInteger limit = new AtomicInteger();
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    String name = method.getName();
                    if (name.endsWith("NetworkTimeout")) {
                        if (!isSupported) {
                            throw new SQLFeatureNotSupportedException(name);
                        }
                        if (name.startsWith("set")) {
                            limit.set((Integer) arguments[1]);
                        }
                        return name.startsWith("set") ? null : limit.get();
                    }
                    if (name.equals("prepareStatement")) {
                        limits.add(limit.get());
                    }
                    try {
                        return method.invoke(connection, arguments);
                    } catch (InvocationTargetException failure) {
                        throw failure.getCause();
                    }
                });
    }
}
