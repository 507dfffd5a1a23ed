package dev.holdfast.benchmarks.server;

import dev.holdfast.testkit.process.Ports;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** PostgreSQL and MariaDB with their defaults, which are durable: each commit waits for the disk. */
public final class SqlNode implements Server {

    private final Daemon daemon;
    private final String url;
    private final Connection observer;
    private final String describe;
    private final String count;

    private SqlNode(Daemon daemon, String url, String version, String settings, String count) {
        this.daemon = daemon;
        this.url = url;
        this.count = count;
        try {
            observer = connected(url);
            describe = text(version) + ", " + settings;
        } catch (SQLException failed) {
            daemon.close();
            throw new IllegalStateException(failed);
        }
    }

    public static SqlNode postgres() {
        String postgres = Daemon.program(
                "postgresql",
                "/usr/lib/postgresql/15/bin/postgres",
                "/usr/lib/postgresql/16/bin/postgres",
                "/usr/lib/postgresql/17/bin/postgres");
        String bin = postgres.substring(0, postgres.lastIndexOf('/'));
        Path folder = Daemon.folder("postgres");
        int port = Ports.reserve();
        String data = folder.resolve("data").toString();
        Daemon.run(folder, Daemon.as("postgres", bin + "/initdb", "-D", data, "-U", "bench", "--auth=trust", "-N"));
        Daemon daemon = Daemon.start(
                folder,
                port,
                Daemon.as(
                        "postgres",
                        bin + "/postgres",
                        "-D",
                        data,
                        "-p",
                        Integer.toString(port),
                        "-k",
                        folder.toString(),
                        "-c",
                        "listen_addresses=127.0.0.1",
                        "-c",
                        "max_connections=500",
                        "-c",
                        "shared_preload_libraries=pg_stat_statements"));
        SqlNode node = new SqlNode(
                daemon,
                "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=bench",
                "SELECT 'PostgreSQL ' || current_setting('server_version')",
                "fsync on, synchronous_commit on, pg_stat_statements loaded",
                "SELECT sum(calls) FROM pg_stat_statements");
        node.execute("CREATE EXTENSION pg_stat_statements");
        return node;
    }

    public static SqlNode mariadb() {
        String program = Daemon.program("mariadb-server", "/usr/sbin/mariadbd", "/usr/sbin/mysqld");
        Path folder = Daemon.folder("mysql");
        int port = Ports.reserve();
        String data = folder.resolve("data").toString();
        Daemon.run(
                folder,
                Daemon.as(
                        "mysql",
                        Daemon.program("mariadb-server", "/usr/bin/mariadb-install-db", "/usr/bin/mysql_install_db"),
                        "--no-defaults",
                        "--auth-root-authentication-method=normal",
                        "--skip-test-db",
                        "--tmpdir=" + folder,
                        "--datadir=" + data));
        Daemon daemon = Daemon.start(
                folder,
                port,
                Daemon.as(
                        "mysql",
                        program,
                        "--no-defaults",
                        "--datadir=" + data,
                        "--tmpdir=" + folder, // a shared one is cleared by each server that starts
                        "--socket=" + folder.resolve("s"),
                        "--pid-file=" + folder.resolve("pid"),
                        "--bind-address=127.0.0.1",
                        "--port=" + port,
                        "--max-connections=500"));
        String server = "jdbc:mariadb://127.0.0.1:" + port;
        try (Connection setup = connected(server + "/?user=root");
                Statement statement = setup.createStatement()) {
            statement.execute("CREATE DATABASE bench");
        } catch (SQLException failed) {
            daemon.close();
            throw new IllegalStateException(failed);
        }
        return new SqlNode(
                daemon,
                server + "/bench?user=root",
                "SELECT CONCAT('MariaDB ', VERSION())",
                "innodb_flush_log_at_trx_commit 1, no binary log",
                "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'QUESTIONS'");
    }

    // Some servers listen before they answer.
    private static Connection connected(String url) throws SQLException {
        for (int tries = 1; ; tries++) {
            try {
                return DriverManager.getConnection(url);
            } catch (SQLException notYet) {
                if (tries == 100) {
                    throw notYet;
                }
                java.util.concurrent.locks.LockSupport.parkNanos(50_000_000);
            }
        }
    }

    private void execute(String sql) {
        try (Statement statement = observer.createStatement()) {
            statement.execute(sql);
        } catch (SQLException failed) {
            throw new IllegalStateException(failed);
        }
    }

    private String text(String sql) throws SQLException {
        try (Statement statement = observer.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @Override
    public String url() {
        return url;
    }

    @Override
    public String target() {
        return url;
    }

    @Override
    public String describe() {
        return describe;
    }

    @Override
    public long requests() {
        try {
            return Long.parseLong(text(count));
        } catch (SQLException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public double cpuSeconds() {
        return daemon.cpuSeconds();
    }

    @Override
    public void close() {
        try {
            observer.close();
        } catch (SQLException gone) {
            // The server ends next.
        }
        daemon.close();
    }
}
