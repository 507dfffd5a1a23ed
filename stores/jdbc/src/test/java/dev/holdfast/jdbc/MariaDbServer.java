package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ServerProcess;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;

/** A real MariaDB that writes each commit to the disk. Tests share one and have a database each. */
public final class MariaDbServer implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/sbin/mariadbd");
    private static final Path INSTALL = Path.of("/usr/bin/mariadb-install-db");

    private static final AtomicInteger DATABASES = new AtomicInteger();
    private static MariaDbServer shared;

    private final ServerProcess process = new ServerProcess("mariadb", "mysql");

    private MariaDbServer() {}

    /** The server of this JVM. It is stopped when the JVM ends. */
    public static synchronized MariaDbServer shared() {
        if (shared == null) {
            shared = start();
            Runtime.getRuntime().addShutdownHook(new Thread(shared::close));
        }
        return shared;
    }

    /** A server of the test's own. */
    static MariaDbServer start() {
        ServerProcess.require(PROGRAM, "mariadb-server");
        ServerProcess.require(INSTALL, "mariadb-server");
        MariaDbServer server = new MariaDbServer();
        server.process.runAsUser(
                INSTALL.toString(),
                "--no-defaults",
                "--datadir=" + server.data(),
                server.ownTemporaryFiles(),
                "--auth-root-authentication-method=normal",
                "--skip-test-db");
        server.startAgain();
        return server;
    }

    private String data() {
        return process.folder().resolve("data").toString();
    }

    // A server that starts removes what it takes for left-overs, and those of a folder that all share may be another's.
    private String ownTemporaryFiles() {
        return "--tmpdir=" + process.folder();
    }

    void startAgain() {
        process.start(
                PROGRAM.toString(),
                "--no-defaults",
                "--datadir=" + data(),
                ownTemporaryFiles(),
                "--bind-address=127.0.0.1",
                "--port=" + process.port(),
                "--socket=" + process.folder().resolve("socket"),
                "--pid-file=" + process.folder().resolve("pid"),
                "--max-connections=300");
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
        return "jdbc:mariadb://127.0.0.1:" + process.port() + "/" + database + "?user=root";
    }

    /** The URL of MySQL's driver, Connector/J. */
    public String mysqlUrl(String database) {
        return "jdbc:mysql://127.0.0.1:" + process.port() + "/" + database + "?user=root";
    }

    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(mariaUrl(database));
    }

    public void run(String database, String... statements) {
        Servers.run(mariaUrl(database), statements);
    }

    /** Crashes it. */
    void kill() {
        process.signal("KILL");
        process.awaitEnd(process.helpers());
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            kill();
        }
        process.removeFolder();
    }
}
