package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.ServerProcess;
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
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A real MariaDB that writes each commit to the disk. Tests share one and have a database each. */
public final class MariaDbServer implements ControlledServer, AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/sbin/mariadbd");
    private static final Path INSTALL = Path.of("/usr/bin/mariadb-install-db");

    private static final AtomicInteger DATABASES = new AtomicInteger();
    private static MariaDbServer shared;

    /** The user that has its process and files, where root runs the tests. */
    static final String USER = "mysql";

    private final ServerProcess process;
    private final String host;
    private final List<String> settings;

    private MariaDbServer(ServerProcess process, String host, List<String> settings) {
        this.process = process;
        this.host = host;
        this.settings = settings;
    }

    /** The server of this JVM. It is stopped when the JVM ends. */
    public static synchronized MariaDbServer shared() {
        if (shared == null) {
            shared = start();
        }
        return shared;
    }

    /** A server of the test's own. */
    static MariaDbServer start() {
        return start(new ServerProcess("mariadb", USER));
    }

    /** A server in a process that was prepared, with further settings. */
    static MariaDbServer start(ServerProcess process, String... settings) {
        return start(process, "127.0.0.1", List.of(settings));
    }

    /** A server at a place in a network. Whoever reaches it may do everything. */
    static MariaDbServer startIn(ClusterNetwork network, int place, String... settings) {
        ServerProcess process = new ServerProcess("mariadb", USER);
        process.startIn(network.prefix(place));
        List<String> all = new ArrayList<>(List.of(settings));
        all.add("--init-file=" + letInAll(process.folder()));
        return start(process, network.host(place), all);
    }

    private static Path letInAll(Path folder) {
        try {
            return Files.write(
                    folder.resolve("init.sql"),
                    List.of(
                            "SET SESSION sql_log_bin = 0;",
                            "CREATE USER IF NOT EXISTS root@'%';",
                            "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static MariaDbServer start(ServerProcess process, String host, List<String> settings) {
        ServerProcess.require(PROGRAM, "mariadb-server");
        ServerProcess.require(INSTALL, "mariadb-server");
        MariaDbServer server = new MariaDbServer(process, host, settings);
        server.startEmpty();
        return server;
    }

    /** Starts it without the data that it had, and with further settings, which win over those that it had. */
    void startEmpty(String... furtherSettings) {
        process.runAsUser("rm", "-rf", data());
        process.runAsUser(
                INSTALL.toString(),
                "--no-defaults",
                "--datadir=" + data(),
                ownTemporaryFiles(),
                "--auth-root-authentication-method=normal",
                "--skip-test-db");
        startAgain(furtherSettings);
    }

    private String data() {
        return process.folder().resolve("data").toString();
    }

    // A server that starts removes what it takes for left-overs, and those of a folder that all share may be another's.
    private String ownTemporaryFiles() {
        return "--tmpdir=" + process.folder();
    }

    @Override
    public void startAgain() {
        startAgain(new String[0]);
    }

    /** The same with further settings, which win over those that it had. */
    void startAgain(String... furtherSettings) {
        List<String> command = new ArrayList<>(List.of(
                PROGRAM.toString(),
                "--no-defaults",
                "--datadir=" + data(),
                ownTemporaryFiles(),
                "--bind-address=" + host,
                "--port=" + process.port(),
                "--socket=" + process.folder().resolve("socket"),
                "--pid-file=" + process.folder().resolve("pid"),
                "--max-connections=300"));
        command.addAll(settings);
        command.addAll(List.of(furtherSettings));
        process.start(command);
        process.awaitReady(this::answers);
    }

    private boolean answers() {
        try (Connection connection = connect("")) {
            return connection.isValid(1);
        } catch (SQLException notYet) {
            return false;
        }
    }

    /** The name of a new database. */
    public String newDatabase() {
        String name = "d" + DATABASES.incrementAndGet();
        run("", "CREATE DATABASE " + name);
        return name;
    }

    /** The URL of MariaDB's own driver. */
    public String mariaUrl(String database) {
        return "jdbc:mariadb://" + address() + "/" + database + "?user=root";
    }

    /** The URL of MySQL's driver, Connector/J. */
    public String mysqlUrl(String database) {
        return "jdbc:mysql://" + address() + "/" + database + "?user=root";
    }

    /** The host and the port at which it is found. */
    String address() {
        return host + ":" + process.port();
    }

    String host() {
        return host;
    }

    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(mariaUrl(database));
    }

    public void run(String database, String... statements) {
        Servers.run(mariaUrl(database), statements);
    }

    /** What a column of the one row says that a query answers. */
    String text(String query, String column) {
        return texts(query, column).get(0);
    }

    /** The same of any number of rows. */
    List<String> texts(String query, String column) {
        List<String> texts = new ArrayList<>();
        try (Connection connection = connect("");
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                texts.add(String.valueOf(rows.getString(column)));
            }
            return texts;
        } catch (SQLException failure) {
            throw new AssertionError(failure);
        }
    }

    @Override
    public int port() {
        return process.port();
    }

    @Override
    public boolean isRunning() {
        return process.isAlive();
    }

    @Override
    public void freeze() {
        process.signal("STOP");
    }

    @Override
    public void thaw() {
        process.signal("CONT");
    }

    /** Sends a signal: STOP freezes it, CONT lets it go on. */
    void signal(String signal) {
        process.signal(signal);
    }

    /** Crashes it. */
    @Override
    public void kill() {
        process.kill();
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            kill();
        }
        process.removeFolder();
    }
}
