package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.ServerProcess;
import dev.holdfast.testkit.process.Signals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

    private static final AtomicInteger SCHEMAS = new AtomicInteger();
    private static PostgresServer shared;

    /** The user that has its processes and files, where root runs the tests. */
    static final String USER = "postgres";

    /** It ends at once without a checkpoint, and without leaving its shared memory as after a crash. */
    private static final String REMOVES_SHARED_MEMORY = "QUIT";

    private final ServerProcess process;
    private final Path programs = programs();

    private PostgresServer() {
        this(new ServerProcess("postgres", USER));
    }

    private PostgresServer(ServerProcess process) {
        this.process = process;
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
        PostgresServer server = new PostgresServer(process);
        List<String> command = new ArrayList<>(List.of(
                server.programs.resolve("initdb").toString(),
                "-D",
                server.data(),
                "-A",
                "trust",
                "-U",
                "holdfast",
                "-E",
                "UTF8",
                "--locale=C"));
        command.addAll(List.of(settings));
        process.runAsUser(command.toArray(String[]::new));
        server.startAgain();
        return server;
    }

    /** A server that follows this one, asynchronously, and may be read (a hot standby). */
    PostgresServer startReplica() {
        PostgresServer replica = new PostgresServer();
        replica.process.runAsUser(
                programs.resolve("pg_basebackup").toString(),
                "-D",
                replica.data(),
                "-h",
                "127.0.0.1",
                "-p",
                Integer.toString(port()),
                "-U",
                "holdfast",
                "-R",
                "-X",
                "stream",
                "-c",
                "fast");
        replica.startAgain();
        return replica;
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
                "listen_addresses=127.0.0.1",
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
        return "jdbc:postgresql://127.0.0.1:" + process.port() + "/postgres?user=holdfast&currentSchema=" + schema;
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

    /** Crashes it: nothing is written any more. */
    @Override
    public void kill() {
        process.kill();
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.end(REMOVES_SHARED_MEMORY);
        }
        process.removeFolder();
    }
}
