package dev.holdfast.jdbc;

import dev.holdfast.jdbc.connection.ConnectionSource;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Connections that record each statement they run. */
public final class CountingSource implements ConnectionSource {

    private static final Set<String> RUNS = Set.of("execute", "executeQuery", "executeUpdate");

    private final ConnectionSource source;
    private final List<String> run = new ArrayList<>();
    private int readsLeft;
    private Runnable afterRead = () -> {};

    public CountingSource(ConnectionSource source) {
        this.source = source;
    }

    /** The statements since the last call. */
    public synchronized List<String> take() {
        List<String> taken = List.copyOf(run);
        run.clear();
        return taken;
    }

    /** Runs something after one of the next statements that read the rows of names: another client that comes first. */
    public synchronized void afterRead(int count, Runnable action) {
        readsLeft = count;
        afterRead = action;
    }

    private synchronized Runnable ran(String sql) {
        run.add(sql);
        boolean reads = sql.contains("LEFT JOIN holdfast_lock");
        return reads && --readsLeft == 0 ? afterRead : () -> {};
    }

    @Override
    public Connection open() throws SQLException {
        Connection connection = source.open();
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    Object result = invoke(connection, method, arguments);
                    return method.getName().equals("prepareStatement")
                            ? counting((PreparedStatement) result, (String) arguments[0])
                            : result;
                });
    }

    private PreparedStatement counting(PreparedStatement statement, String sql) {
        return (PreparedStatement) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {PreparedStatement.class}, (proxy, method, arguments) -> {
                    Runnable after = RUNS.contains(method.getName()) ? ran(sql) : () -> {};
                    Object result = invoke(statement, method, arguments);
                    after.run();
                    return result;
                });
    }

    private static Object invoke(Object target, java.lang.reflect.Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    @Override
    public boolean keep() {
        return source.keep();
    }

    @Override
    public void close() {
        source.close();
    }

    @Override
    public String toString() {
        return source.toString();
    }
}
