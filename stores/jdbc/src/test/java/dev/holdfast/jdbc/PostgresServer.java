package dev.holdfast.jdbc;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.ServerProcess;
import dev.holdfast.testkit.process.Signals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** A real PostgreSQL, with fsync on. Most tests share one and have a schema each. */
public final class PostgresServer implements ControlledServer, AutoCloseable {

    private static final Path VERSIONS = Path.of("/usr/lib/postgresql");

    private static final String WAL_WRITER =
            "SELECT COALESCE(max(pid), 0) FROM pg_stat_activity WHERE backend_type = 'walwriter'";

    private static final String WAITING = " FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

    private static final AtomicInteger SCHEMAS = new AtomicInteger();
    private static PostgresServer shared;

    /** The user that has its processes and files, where root runs the tests. */
    static final String USER = "postgres";

    /** It ends at once without a checkpoint, and without leaving its shared memory as after a crash. */
    private static final String REMOVES_SHARED_MEMORY = "QUIT";

    private final ServerProcess process;
    private final String host;
    private final Path programs = programs();

    private PostgresServer(ServerProcess process, String host) {
        this.process = process;
        this.host = host;
        process.endWithThisJvmBy(REMOVES_SHARED_MEMORY);
    }

    /** The server of this JVM. It is stopped when the JVM ends. */
    public static synchronized PostgresServer shared() {
        if (shared == null) {
            shared = start();
        }
        return shared;
    }

    /** A server of the test's own, which it may stop and kill. */
    public static PostgresServer start() {
        return start(new ServerProcess("postgres", USER));
    }

    /** A server in a process that was prepared, with further settings for its data. */
    static PostgresServer start(ServerProcess process, String... settings) {
        PostgresServer server = new PostgresServer(process, "127.0.0.1");
        server.makeData(settings);
        server.startAgain();
        return server;
    }

    /** A server at a place in a network. Whoever reaches it may do everything. */
    static PostgresServer startIn(ClusterNetwork network, int place) {
        PostgresServer server = prepareIn(network, place);
        server.makeData();
        server.letInAll();
        server.startAgain();
        return server;
    }

    /** One at a place in a network that has no data yet: {@link #follow} starts it. */
    static PostgresServer prepareIn(ClusterNetwork network, int place) {
        ServerProcess process = new ServerProcess("postgres", USER);
        process.startIn(network.prefix(place));
        return new PostgresServer(process, network.host(place));
    }

    private void letInAll() {
        try {
            Files.write(
                    Path.of(data(), "pg_hba.conf"),
                    List.of("host all all all trust", "host replication all all trust"),
                    StandardOpenOption.APPEND);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private void makeData(String... settings) {
        List<String> command = new ArrayList<>(List.of(
                programs.resolve("initdb").toString(),
                "-D",
                data(),
                "-A",
                "trust",
                "-U",
                "holdfast",
                "-E",
                "UTF8",
                "--locale=C"));
        command.addAll(List.of(settings));
        process.runAsUser(command.toArray(String[]::new));
    }

    /** A server that follows this one, asynchronously, and may be read (a hot standby). */
    PostgresServer startReplica() {
        PostgresServer replica = new PostgresServer(new ServerProcess("postgres", USER), host);
        replica.follow(this);
        return replica;
    }

    /** Starts it as one that follows another one, with a copy of the other one's data in the place of its own. */
    void follow(PostgresServer primary) {
        process.runAsUser("rm", "-rf", data());
        process.runAsUser(
                programs.resolve("pg_basebackup").toString(),
                "-D",
                data(),
                "-h",
                primary.host,
                "-p",
                Integer.toString(primary.port()),
                "-U",
                "holdfast",
                "-R",
                "-X",
                "stream",
                "-c",
                "fast");
        startAgain();
    }

    /** From now on each commit that waits for the disk waits for the disk of a server that follows this one, too. */
    void commitOnStandbyToo() {
        setStandbys("*");
        // The process that makes checkpoints is the one that has all others wait. It was told before this connects.
        StoreTest.awaitUntil(() -> text("SHOW synchronous_standby_names").equals("*"));
        run("public", "CHECKPOINT");
        StoreTest.awaitUntil(() -> text("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
                .equals("1"));
        // All that was committed before is there, too, as soon as this is.
        run("public", "SELECT pg_logical_emit_message(true, 'test', 'a commit that waits')");
    }

    /** From now on a commit waits for nobody else. A server that is read only can be told so as well. */
    void commitAlone() {
        setStandbys("");
    }

    /** Whether a commit waits for a standby. */
    boolean isWaitingForStandby() {
        return !text("SELECT count(*)" + WAITING).equals("0");
    }

    /**
     * Ends these waits, as somebody may who sees programs hang: the commits are done here, and perhaps nowhere else.
     *
     * @param how {@code pg_cancel_backend} or {@code pg_terminate_backend}
     */
    void endWaitsForStandby(String how) {
        text("SELECT count(" + how + "(pid))" + WAITING);
    }

    private void setStandbys(String names) {
        run("public", "ALTER SYSTEM SET synchronous_standby_names = '" + names + "'", "SELECT pg_reload_conf()");
    }

    /** Makes a replica a primary. */
    void promote() {
        process.runAsUser(programs.resolve("pg_ctl").toString(), "promote", "-w", "-D", data());
    }

    /** Crashes one of its processes: then the server ends all others, and goes on with new ones after a recovery. */
    void crashProcesses() {
        String writer = text(WAL_WRITER);
        ProcessHandle.of(Long.parseLong(writer)).orElseThrow().destroyForcibly();
        // Until its main process has noticed, the server goes on as if nothing had happened.
        process.awaitReady(() -> hasAnotherWriter(writer));
    }

    private boolean hasAnotherWriter(String than) {
        try (Connection connection = connect("public")) {
            String writer = text(connection, WAL_WRITER);
            return !writer.equals(than) && !writer.equals("0");
        } catch (SQLException notYet) {
            return false;
        }
    }

    /** Copies the data of a server that was stopped. */
    void copyData(String name) {
        process.runAsUser("cp", "-a", data(), process.folder().resolve(name).toString());
    }

    /** Replaces the data of a server that was stopped by a copy. */
    void restoreData(String name) {
        process.runAsUser("rm", "-r", data());
        process.runAsUser("cp", "-a", process.folder().resolve(name).toString(), data());
    }

    /** What a query answers. */
    String text(String query) {
        try (Connection connection = connect("public")) {
            return text(connection, query);
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    private static String text(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return String.valueOf(rows.getString(1));
        }
    }

    private static Path programs() {
        try (Stream<Path> versions = Files.isDirectory(VERSIONS) ? Files.list(VERSIONS) : Stream.empty()) {
            Path newest = versions.max(
                            Comparator.comparing(path -> path.getFileName().toString()))
                    .orElse(VERSIONS);
            Path programs = newest.resolve("bin");
            ServerProcess.require(programs.resolve("postgres"), "postgresql");
            return programs;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private String data() {
        return process.folder().resolve("data").toString();
    }

    /** Starts it after {@link #stop} or {@link #kill}, on the same port and data. */
    @Override
    public void startAgain() {
        process.start(
                programs.resolve("postgres").toString(),
                "-D",
                data(),
                "-p",
                Integer.toString(process.port()),
                "-c",
                "listen_addresses=" + host,
                "-c",
                "unix_socket_directories=",
                "-c",
                "max_connections=200",
                "-c",
                "fsync=on");
        process.awaitReady(this::answers);
    }

    private boolean answers() {
        try (Connection connection = connect("public")) {
            return connection.isValid(1);
        } catch (SQLException notYet) {
            return false;
        }
    }

    @Override
    public boolean isRunning() {
        return process.isAlive();
    }

    @Override
    public int port() {
        return process.port();
    }

    /** The URL of a new schema. */
    public String newSchema() {
        String schema = "s" + SCHEMAS.incrementAndGet();
        run("public", "CREATE SCHEMA " + schema);
        return url(schema);
    }

    public String url(String schema) {
        return "jdbc:postgresql://" + address() + "/postgres?user=holdfast&currentSchema=" + schema;
    }

    /** The host and the port at which it is found. */
    String address() {
        return host + ":" + process.port();
    }

    Connection connect(String schema) throws SQLException {
        return DriverManager.getConnection(url(schema));
    }

    public void run(String schema, String... statements) {
        Servers.run(url(schema), statements);
    }

    /** Stops all its processes (SIGSTOP). The main one is the first, so that it starts no more meanwhile. */
    @Override
    public void freeze() {
        process.signal("STOP");
        process.helpers().forEach(helper -> Signals.send("STOP", helper.pid()));
    }

    @Override
    public void thaw() {
        process.helpers().forEach(helper -> Signals.send("CONT", helper.pid()));
        process.signal("CONT");
    }

    /** Stops it regularly: clients are disconnected. */
    void stop() {
        process.end("INT");
    }

    /** Ends it at once, without a checkpoint. */
    void end() {
        process.end(REMOVES_SHARED_MEMORY);
    }

    /** Crashes it: nothing is written any more. */
    @Override
    public void kill() {
        process.kill();
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            end();
        }
        process.removeFolder();
    }
}
