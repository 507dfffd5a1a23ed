package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;

/** A real PgBouncer in transaction mode, before a PostgreSQL: each transaction of a client gets the next session. */
public final class PgBouncer implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/sbin/pgbouncer");

    private final ServerProcess process = new ServerProcess("pgbouncer", "postgres");

    private PgBouncer() {}

    /**
     * Starts one.
     *
     * @param sessions how many sessions of the server all clients of a database share
     */
    public static PgBouncer start(PostgresServer server, int sessions) {
        ServerProcess.require(PROGRAM, "pgbouncer");
        PgBouncer started = new PgBouncer();
        Path folder = started.process.folder();
        Path settings = folder.resolve("pgbouncer.ini");
        Path users = folder.resolve("users");
        try {
            Files.writeString(users, "\"holdfast\" \"\"\n");
            Files.write(
                    settings,
                    List.of(
                            "[databases]",
                            "* = host=127.0.0.1 port=" + server.port(),
                            "[pgbouncer]",
                            "listen_addr = 127.0.0.1",
                            "listen_port = " + started.process.port(),
                            "unix_socket_dir =",
                            "auth_type = trust",
                            "auth_file = " + users,
                            "pool_mode = transaction",
                            "default_pool_size = " + sessions,
                            "server_round_robin = 1"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        started.process.start(PROGRAM.toString(), settings.toString());
        started.process.awaitReady(started::answers);
        return started;
    }

    private boolean answers() {
        try (Connection connection = DriverManager.getConnection(url("postgres") + "&prepareThreshold=0")) {
            return connection.isValid(1);
        } catch (SQLException notYet) {
            return false;
        }
    }

    /** The URL through it. The driver's {@code currentSchema} is a setting of a session, which it refuses. */
    public String url(String database) {
        return "jdbc:postgresql://127.0.0.1:" + process.port() + "/" + database + "?user=holdfast";
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.kill();
        }
        process.removeFolder();
    }
}
