package dev.holdfast.jdbc;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.process.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A change-over: four processes that lock by hand in a table, and four with Holdfast in the same one, add to one counter under
 * one lock, by reading it and writing it in two steps. One of ours is killed while it holds the lock. No addition is lost, and each
 * side has its turns.
 */
class AdoptedProcessesTest extends Servers {

    private static final int OF_EACH = 4;
    private static final long MILLIS = 4_000;
    /** So long that nobody loses it on a busy machine: the process whose lock is lost fails. */
    private static final Duration LEASE = Duration.ofMinutes(10);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String LOCK = "counted";
    private static final int LEAST = 10;

    @ParameterizedTest
    @ValueSource(strings = {"insert", "flag"})
    void noAdditionIsLost(String layout) throws SQLException {
        String url = PostgresServer.shared().newSchema();
        // While many JVMs start, a server may seem not to answer in time.
        String options = ClassicProgram.makeTable(url, layout) + "&holdfast.busyTimeout=1m";
        run(url, "CREATE TABLE ledger (n BIGINT PRIMARY KEY, side VARCHAR(10) NOT NULL)");
        try (ClassicProgram first = new ClassicProgram(url, layout)) {
            first.introduce(LOCK);
        }
        List<ChildJvm> processes = new ArrayList<>();
        for (int i = 0; i < OF_EACH; i++) {
            processes.add(start("theirs", url, layout));
            processes.add(start("ours", url, options));
        }
        processes.forEach(process -> process.expect("READY", PATIENCE));
        processes.forEach(process -> process.send("go"));
        pause(MILLIS);
        // How many there are after a while is up to the machine. Each side has its turns beside the other one.
        awaitUntil(() -> count(url, "theirs") > LEAST && count(url, "ours") > LEAST);
        ChildJvm victim = processes.remove(1);
        victim.send("stay");
        victim.expect("INSIDE", PATIENCE);
        victim.kill();
        // Its lease is over from one moment to the next.
        run(url, "UPDATE job_lock_holdfast SET expires = 1, version = version + 1");
        long theirs = count(url, "theirs");
        long ours = count(url, "ours");
        awaitUntil(() -> count(url, "theirs") > theirs && count(url, "ours") > ours);
        processes.forEach(process -> process.send("stop"));
        // A process whose addition was lost has failed.
        processes.forEach(process -> process.expect("DONE", PATIENCE));
        System.out.println("Additions under one lock, layout=" + layout + ": " + count(url, "theirs") + " by theirs, "
                + count(url, "ours") + " by ours");
    }

    private ChildJvm start(String side, String url, String more) {
        return closing(ChildJvm.startSmall(List.of("-Xmx96m"), Program.class, side, url, more));
    }

    private static long count(String url, String side) {
        try (Connection connection = connect(url);
                PreparedStatement statement =
                        connection.prepareStatement("SELECT COUNT(*) FROM ledger WHERE side = ?")) {
            statement.setString(1, side);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getLong(1);
            }
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    /** One of the processes. */
    static final class Program {

        private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
        private static final int MOST_THOUGHT_MILLIS = 10;

        private static volatile boolean goes;
        private static volatile boolean stays;
        private static volatile boolean stops;
        private static int rounds;

        private Program() {}

        public static void main(String[] arguments) throws SQLException {
            Thread input = new Thread(Program::readInput);
            input.setDaemon(true);
            input.start();
            try (Connection ledger = connect(arguments[1])) {
                if (arguments[0].equals("theirs")) {
                    theirs(arguments[1], arguments[2], ledger);
                } else {
                    ours(arguments[1] + arguments[2], ledger);
                }
            }
            System.out.println("DONE");
        }

        private static void readInput() {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    goes |= line.equals("go");
                    stays |= line.equals("stay");
                    stops |= line.equals("stop");
                }
            } catch (IOException closed) {
                // As if it had ended.
            }
            stops = true;
        }

        private static void theirs(String url, String layout, Connection ledger) throws SQLException {
            try (ClassicProgram program = new ClassicProgram(url, layout)) {
                ready();
                while (!stops) {
                    if (!program.tryLock(LOCK)) {
                        LockSupport.parkNanos(POLL_NANOS);
                        continue;
                    }
                    try {
                        add(ledger, "theirs");
                    } finally {
                        program.unlock(LOCK);
                    }
                    think();
                }
            }
        }

        private static void ours(String url, Connection ledger) throws SQLException {
            try (Holdfast locks = Holdfast.connect(url)) {
                DistributedLock lock = locks.lock(LOCK, LockOptions.defaults().withLease(LEASE));
                lock.isLocked(); // opens the connections
                ready();
                while (!stops) {
                    lock.lock();
                    try {
                        add(ledger, "ours");
                    } finally {
                        lock.unlock();
                    }
                    think();
                }
            }
        }

        private static void ready() {
            System.out.println("READY");
            while (!goes && !stops) {
                LockSupport.parkNanos(POLL_NANOS);
            }
        }

        // Two that add at the same time read the same number, and the second one fails.
        private static void add(Connection ledger, String side) throws SQLException {
            try (Statement statement = ledger.createStatement()) {
                long last;
                try (ResultSet rows = statement.executeQuery("SELECT COALESCE(MAX(n), 0) FROM ledger")) {
                    rows.next();
                    last = rows.getLong(1);
                }
                if (stays) {
                    System.out.println("INSIDE");
                    LockSupport.parkNanos(PATIENCE.toNanos());
                }
                statement.executeUpdate("INSERT INTO ledger VALUES (" + (last + 1) + ", '" + side + "')");
            }
        }

        // Each time a bit longer, and then at once again, so that not always the same one wins.
        private static void think() {
            rounds++;
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(rounds % MOST_THOUGHT_MILLIS));
        }
    }
}
