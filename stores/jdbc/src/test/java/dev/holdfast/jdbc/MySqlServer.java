package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ServerProcess;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * MySQL's own server, if {@code -Dholdfast.mysqld=PROGRAM} names one: this system's packages have none. Otherwise MariaDB stands in
 * for it, which understands the statements for MySQL.
 */
public final class MySqlServer implements AutoCloseable {

    private static final @Nullable String PROGRAM = System.getProperty("holdfast.mysqld");
    private static final AtomicInteger DATABASES = new AtomicInteger();
    private static MySqlServer shared;

    private final ServerProcess process = new ServerProcess("mysql", "mysql");

    private MySqlServer() {}

    /** The URL of a new database, for MySQL's driver. */
    public static String newDatabase() {
        return Servers.loaded(
                PROGRAM == null
                        ? MariaDbServer.shared().mysqlUrl(MariaDbServer.shared().newDatabase())
                        : shared().newDatabaseHere());
    }

    /** The server of this JVM. It is stopped when the JVM ends. */
    private static synchronized MySqlServer shared() {
        if (shared == null) {
            shared = new MySqlServer();
            shared.start();
        }
        return shared;
    }

    private void start() {
        ServerProcess.require(Path.of(PROGRAM), "mysql-server-core, of a distribution that has it");
        String data = "--datadir=" + process.folder().resolve("data");
        String noFiles = "--secure-file-priv=NULL"; // the usual folder for them is made by the package
        process.runAsUser(PROGRAM, "--no-defaults", data, noFiles, "--initialize-insecure");
        process.start(
                PROGRAM,
                "--no-defaults",
                data,
                noFiles,
                "--tmpdir=" + process.folder(),
                "--bind-address=127.0.0.1",
                "--port=" + process.port(),
                "--mysqlx=OFF",
                "--socket=" + process.folder().resolve("socket"),
                "--pid-file=" + process.folder().resolve("pid"),
                "--max-connections=300");
        process.awaitReady(this::answers);
    }

    private boolean answers() {
        try (Connection connection = DriverManager.getConnection(url(""))) {
            return connection.isValid(1);
        } catch (SQLException notYet) {
            return false;
        }
    }

    private String newDatabaseHere() {
        String name = "d" + DATABASES.incrementAndGet();
        Servers.run(url(""), "CREATE DATABASE " + name);
        return url(name);
    }

    private String url(String database) {
        return "jdbc:mysql://127.0.0.1:" + process.port() + "/" + database + "?user=root";
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.kill();
        }
        process.removeFolder();
    }
}
