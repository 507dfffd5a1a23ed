package dev.holdfast.benchmarks.server;

import java.nio.file.Path;
import org.sqlite.SQLiteJDBCLoader;

/** SQLite: a file and no server, so that nothing counts requests. */
public final class FileStore implements Server {

    private final Path folder = Daemon.folder("");

    public FileStore() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::close));
    }

    @Override
    public String url() {
        return "sqlite:" + folder.resolve("locks.db");
    }

    @Override
    public String target() {
        return "jdbc:sqlite:" + folder.resolve("floor.db");
    }

    @Override
    public String describe() {
        return "SQLite by sqlite-jdbc " + SQLiteJDBCLoader.getVersion()
                + ", WAL; the floor with synchronous=normal, as Holdfast";
    }

    @Override
    public long requests() {
        return -1;
    }

    @Override
    public void close() {
        Daemon.delete(folder);
    }
}
