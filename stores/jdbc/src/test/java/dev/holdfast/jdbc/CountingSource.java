package dev.holdfast.jdbc;

import dev.holdfast.jdbc.connection.ConnectionSource;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Connections that record each statement they run, except polls and the removal of idle rows, which come at any time. */
public final class CountingSource implements ConnectionSource {

    private static final Set<String> RUNS = Set.of("execute", "executeQuery", "executeUpdate");

    private final ConnectionSource source;
    private final List<String> run = new ArrayList<>();
    /** What was run without being prepared, as are commands about the session. It is not recorded among the others. */
    private final Set<String> commands = ConcurrentHashMap.newKeySet();
    /** The ends of the names of threads whose statements are not recorded. */
    private volatile List<String> unrecorded = List.of("-cleaner", "-poller");

    private volatile Consumer<String> before = sql -> {};
    private volatile int discarded;

    public CountingSource(ConnectionSource source) {
        this.source = source;
    }

    /** What is done before each statement from now on. */
    public void before(Consumer<String> action) {
        before = action;
    }

    /** Records polls, too. */
    public void recordPolls() {
        unrecorded = List.of("-cleaner");
    }

    /** How many connections were not given back. */
    public int discarded() {
        return discarded;
    }

    /** The statements since the last call. */
    public synchronized List<String> take() {
        List<String> taken = List.copyOf(run);
        run.clear();
        return taken;
    }

    /** Whether a command that was not prepared has been run. */
    public boolean hasRun(String command) {
        return commands.contains(command);
    }

    @Override
    public Connection open() throws SQLException {
        Connection connection = source.open();
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    Object result = invoke(connection, method, arguments);
                    return switch (method.getName()) {
                        case "prepareStatement" -> counting((PreparedStatement) result, (String) arguments[0]);
                        case "createStatement" -> noting((Statement) result);
                        default -> result;
                    };
                });
    }

    private Statement noting(Statement statement) {
        return (Statement) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Statement.class}, (proxy, method, arguments) -> {
                    Object result = invoke(statement, method, arguments);
                    if (method.getName().equals("execute")) {
                        // After a new connection all channels are listened to with one text.
                        commands.addAll(List.of(((String) arguments[0]).split(";")));
                    }
                    return result;
                });
    }

    private PreparedStatement counting(PreparedStatement statement, String sql) {
        return (PreparedStatement) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {PreparedStatement.class}, (proxy, method, arguments) -> {
                    if (RUNS.contains(method.getName())) {
                        record(sql);
                    }
                    return invoke(statement, method, arguments);
                });
    }

    private void record(String sql) {
        String thread = Thread.currentThread().getName();
        if (unrecorded.stream().anyMatch(thread::endsWith)) {
            return;
        }
        synchronized (this) {
            run.add(sql);
        }
        before.accept(sql);
    }

    /** Calls a method of what a proxy stands for; what that throws is thrown. */
    static Object invoke(Object target, java.lang.reflect.Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    @Override
    public void discard(Connection connection) throws SQLException {
        discarded++;
        connection.close();
    }

    @Override
    public int discards() {
        return source.discards();
    }

    @Override
    public int breaks() {
        return source.breaks();
    }

    @Override
    public void broke() {
        source.broke();
    }

    @Override
    public Use use() {
        return source.use();
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
