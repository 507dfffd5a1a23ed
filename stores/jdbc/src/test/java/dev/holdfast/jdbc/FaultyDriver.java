package dev.holdfast.jdbc;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;

/**
 * A driver any of whose calls fails at random, and a pool over it that changes nothing about a connection that it gets back, and
 * lends it again as it is. It records what is wrong about a connection that comes back, and what is run in a transaction whose end
 * has failed.
 */
final class FaultyDriver implements AutoCloseable {

    /** Opens a real connection. */
    @FunctionalInterface
    interface Opener {
        Connection open() throws SQLException;
    }

    /** The settings of a session, as text. */
    @FunctionalInterface
    interface Settings {
        String of(Connection connection) throws SQLException;
    }

    /** In which way a call fails. */
    enum Fault {
        /** The server says that it has done nothing. */
        REFUSED,
        /** Nothing was done, and nobody says so. */
        BEFORE,
        /** It was done, and its reply is lost. */
        AFTER,
        /** The connection is lost before it. */
        CUT_BEFORE,
        /** The connection is lost after it. */
        CUT_AFTER;

        boolean isAfter() {
            return this == AFTER || this == CUT_AFTER;
        }

        boolean isCut() {
            return this == CUT_BEFORE || this == CUT_AFTER;
        }
    }

    private static final Set<Fault> NOT_REFUSED = EnumSet.complementOf(EnumSet.of(Fault.REFUSED));
    private static final Set<String> RUN = Set.of("execute", "executeQuery", "executeUpdate", "commit");
    private static final Set<String> FREQUENT =
            Set.of("commit", "rollback", "setAutoCommit", "execute", "executeQuery", "executeUpdate", "abort");
    private static final int WEIGHT_OF_FREQUENT = 5;
    private static final double WEIGHT_OF_VALUES = 0.1;

    /** Of each of these methods one call fails for certain, so that no run is without. */
    static final Set<String> CERTAIN = Set.of("executeQuery", "setNetworkTimeout", "close");

    /** How many calls after a failure fail more often: two failures would meet rarely by themselves. */
    private static final int TROUBLES = 8;

    private static final int WEIGHT_OF_TROUBLES = 25;

    private final Opener opener;
    private final Settings settings;
    private final List<Supplier<SQLException>> refusals;
    private final boolean autoCommit;
    private final boolean isPool;
    private final Random random;
    private final Deque<Session> idle = new ArrayDeque<>();
    private final Set<Session> lent = ConcurrentHashMap.newKeySet();
    private final AtomicInteger open = new AtomicInteger();
    private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
    private final Set<String> failed = ConcurrentHashMap.newKeySet();
    private final Queue<String> wrongs = new ConcurrentLinkedQueue<>();
    private volatile double rate;

    /**
     * @param refusals failures that say that a statement had no effect
     * @param autoCommit the mode of the connections that are lent
     * @param isPool whether connections that are given back are lent again
     */
    FaultyDriver(
            Opener opener,
            Settings settings,
            List<Supplier<SQLException>> refusals,
            boolean autoCommit,
            boolean isPool,
            long seed) {
        this.opener = opener;
        this.settings = settings;
        this.refusals = refusals;
        this.autoCommit = autoCommit;
        this.isPool = isPool;
        this.random = new Random(seed);
    }

    /** Which part of the calls fails from now on. */
    void fail(double newRate) {
        rate = newRate;
    }

    Queue<String> wrongs() {
        return wrongs;
    }

    synchronized Map<Fault, Integer> faults() {
        return new EnumMap<>(faults);
    }

    /** The methods that have failed. */
    Set<String> failed() {
        return failed;
    }

    int lent() {
        return lent.size();
    }

    int open() {
        return open.get();
    }

    DataSource dataSource() {
        return proxy(DataSource.class, (method, arguments) -> switch (method.getName()) {
            case "getConnection" -> lend();
            case "getLoginTimeout" -> 0;
            case "isWrapperFor" -> false;
            default -> null;
        });
    }

    Connection lend() throws SQLException {
        Fault fault = next("getConnection", 1, false);
        if (fault != null) {
            try {
                throw failure(fault, "getConnection");
            } catch (SQLException | RuntimeException | Error thrown) {
                throw thrown;
            } catch (Throwable other) {
                throw new AssertionError(other);
            }
        }
        Session session;
        synchronized (idle) {
            session = idle.poll();
        }
        if (session == null) {
            session = new Session(opener.open());
            open.incrementAndGet();
        }
        lent.add(session);
        return session.lend();
    }

    @Override
    public void close() {
        synchronized (idle) {
            idle.forEach(Session::end);
            idle.clear();
        }
    }

    // A kind that was not met yet comes before the others.
    private synchronized Fault next(String name, double weight, boolean mayBeRefused) {
        boolean isCertain = rate > 0 && CERTAIN.contains(name) && !failed.contains(name);
        if (!isCertain && random.nextDouble() >= rate * weight) {
            return null;
        }
        List<Fault> kinds = new ArrayList<>(mayBeRefused ? EnumSet.allOf(Fault.class) : NOT_REFUSED);
        if (!faults.keySet().containsAll(kinds)) {
            kinds.removeAll(faults.keySet());
        }
        return kinds.get(random.nextInt(kinds.size()));
    }

    // The thread with which HikariCP closes connections would not survive an error.
    private synchronized Throwable failure(Fault fault, String name) {
        faults.merge(fault, 1, Integer::sum);
        failed.add(name);
        if (fault == Fault.REFUSED) {
            return refusals.get(random.nextInt(refusals.size())).get();
        }
        boolean isClosing = Thread.currentThread().getName().endsWith("connection-closer");
        return switch (random.nextInt(isClosing ? 7 : 8)) {
            case 0 -> new SQLException("of the test: an error of the network", "08006");
            case 1 -> new SQLNonTransientConnectionException("of the test: no connection", "08003");
            case 2 -> new SQLTransientConnectionException("of the test: a reset", "08006");
            case 3 -> new SQLRecoverableException("of the test: closed", "08000");
            case 4 -> new SQLTimeoutException("of the test: no answer in time");
            case 5 -> new SQLException("of the test: without a state");
            case 6 -> new IllegalStateException("of the test: a defect of the driver");
            default -> new InternalError("of the test: an error in the driver");
        };
    }

    // What is called on a connection, a statement or a result.
    private Object call(Session session, Object target, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        boolean isRun = RUN.contains(name);
        if (session.isDoomed && (isRun || begins(name, arguments))) {
            wrongs.add(name + " in a transaction whose end has failed, " + where());
        }
        boolean isEnd = name.equals("commit") || name.equals("rollback") || ends(name, arguments);
        Fault fault = next(name, session.weight(name), isRun && !refusals.isEmpty());
        if (isLeftAlone(name, arguments)) {
            fault = null;
        } else if (fault != null && (name.equals("close") || name.equals("abort"))) {
            fault = Fault.AFTER; // there is nothing else that could be done
        }
        if (isEnd && !session.isClosed() && !session.real.getAutoCommit()) {
            session.isDoomed = true;
        }
        if (fault != null && !fault.isAfter()) {
            throw session.failure(fault, name);
        }
        Object result = session.knows(target, name)
                ? session.networkTimeout(arguments)
                : CountingSource.invoke(target, method, arguments);
        if (isEnd) {
            session.isDoomed = false;
        }
        if (fault != null) {
            throw session.failure(fault, name);
        }
        return wrapped(session, method.getReturnType(), result);
    }

    private static boolean begins(String name, Object[] arguments) {
        return name.equals("setAutoCommit") && arguments[0].equals(false);
    }

    private static boolean ends(String name, Object[] arguments) {
        return name.equals("setAutoCommit") && arguments[0].equals(true);
    }

    // Without this there is no way to keep a connection of H2 out of the pool, whose driver does nothing to abort one.
    private static boolean isLeftAlone(String name, Object[] arguments) {
        return name.equals("unwrap") && arguments[0] == Connection.class;
    }

    // By what the method returns: a result of SQLite's is its own description, too.
    private Object wrapped(Session session, Class<?> type, Object result) {
        boolean isWrapped = type == PreparedStatement.class || type == Statement.class || type == ResultSet.class;
        return isWrapped && result != null
                ? proxy(type, (method, arguments) -> call(session, result, method, arguments))
                : result;
    }

    private static String where() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(
                                frame -> !frame.getClassName().contains(FaultyDriver.class.getSimpleName()))
                        .filter(frame -> frame.getClassName().startsWith("dev.holdfast.jdbc"))
                        .limit(6)
                        .toList()
                        .toString());
    }

    /** A real connection. */
    private final class Session {

        private final Connection real;
        private final String before;
        private int networkMillis;
        private int troubles;
        private boolean isEnded;
        /** Whether the end of a transaction has failed. */
        private volatile boolean isDoomed;

        Session(Connection real) throws SQLException {
            this.real = real;
            this.before = settings.of(real);
            real.setAutoCommit(autoCommit);
        }

        Connection lend() {
            boolean[] isBack = new boolean[1];
            return proxy(Connection.class, (method, arguments) -> {
                String name = method.getName();
                if (name.equals("close")) {
                    if (!isBack[0]) {
                        isBack[0] = true;
                        comeBack();
                    }
                    if (next(name, 1, false) != null) {
                        throw failure(Fault.AFTER, name);
                    }
                    return null;
                }
                if (name.equals("isClosed") && (isBack[0] || isClosed())) {
                    return true;
                }
                if (isBack[0]) {
                    throw new SQLException("of the test: it was given back", "08003");
                }
                return call(this, real, method, arguments);
            });
        }

        double weight(String name) {
            if (troubles > 0) {
                troubles--;
                return WEIGHT_OF_TROUBLES;
            }
            boolean isValue = name.matches("[gs]et(Int|Long|String|Bytes|Object)");
            return FREQUENT.contains(name) ? WEIGHT_OF_FREQUENT : isValue ? WEIGHT_OF_VALUES : 1;
        }

        Throwable failure(Fault fault, String name) {
            troubles = TROUBLES;
            if (fault.isCut()) {
                end();
            }
            return FaultyDriver.this.failure(fault, name);
        }

        // The driver of H2 knows none.
        boolean knows(Object target, String name) {
            return target == real && name.endsWith("NetworkTimeout");
        }

        Object networkTimeout(Object[] arguments) {
            if (arguments == null) {
                return networkMillis;
            }
            networkMillis = (Integer) arguments[1];
            return null;
        }

        private void comeBack() {
            lent.remove(this);
            if (isPool && !isClosed() && isAsBefore()) {
                synchronized (idle) {
                    idle.push(this);
                }
            } else {
                end();
            }
        }

        private boolean isAsBefore() {
            try {
                String now = (isDoomed ? "in a transaction, " : "") + state();
                String expected = "autoCommit=" + autoCommit + " networkTimeout=0 " + before;
                if (now.equals(expected)) {
                    return true;
                }
                wrongs.add("comes back with " + now + " instead of " + expected + ", " + where());
            } catch (SQLException broken) {
                return false;
            }
            return false;
        }

        private String state() throws SQLException {
            boolean mode = real.getAutoCommit();
            String now = "autoCommit=" + mode + " networkTimeout=" + networkMillis + " " + settings.of(real);
            if (!mode) {
                real.rollback();
            }
            return now;
        }

        private synchronized void end() {
            if (!isEnded) {
                isEnded = true;
                open.decrementAndGet();
                try {
                    real.close();
                } catch (SQLException alreadyClosed) {
                    return;
                }
            }
        }

        private boolean isClosed() {
            try {
                return real.isClosed();
            } catch (SQLException broken) {
                return true;
            }
        }
    }

    /** What a proxy does. */
    @FunctionalInterface
    private interface Call {
        Object run(Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, Call call) {
        return type.cast(Proxy.newProxyInstance(
                FaultyDriver.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "toString" -> "a " + type.getSimpleName() + " of the test";
                    default -> call.run(method, arguments);
                }));
    }
}
