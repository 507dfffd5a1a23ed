package dev.holdfast.jdbc.sqlite;

import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.spi.StoreException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteErrorCode;

/**
 * A database file of SQLite, and how it is opened.
 *
 * <p><b>Write-ahead log</b>: readers and the one writer do not wait for each other, and a commit is one append.
 *
 * <p><b>{@code synchronous=NORMAL}</b>: a commit does not wait for the disk. A crash of a process loses nothing,
 * since the kernel has the log. A loss of power can lose the last commits, but never a part of one. This is
 * harmless, because it reboots the host, and every lease and queue position of an earlier boot is void anyway. Only
 * the counter of each name must survive a reboot. If it is lost, the next one is taken from the wall clock, above
 * all counters that were lost. {@code FULL} would wait for the disk at each acquire and each release, which takes
 * ten times as long in all, and gives no benefit.
 */
public final class SqliteFile implements ConnectionSource {

    /** The pause between two tries to switch the file to a write-ahead log. */
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final Path path;
    private final Duration busyTimeout;
    private final Dialect dialect;

    public SqliteFile(Path path, Duration busyTimeout, Dialect dialect) {
        this.path = path;
        this.busyTimeout = busyTimeout;
        this.dialect = dialect;
    }

    /**
     * Creates the file and its folders if they are missing. Only the owner gets rights, because everybody who may
     * write to the file can break locks.
     */
    public void create() {
        try {
            createMissing();
            NetworkFileSystem.refuse(path);
        } catch (IOException failure) {
            throw StoreException.refused(
                    path + " cannot be made: " + failure + ". Give a path that this user may write to", failure);
        }
        if (Files.isDirectory(path)) {
            throw StoreException.refused(path + " is a folder. Give the path of a file in it", null);
        }
    }

    private void createMissing() throws IOException {
        Path folder = path.getParent();
        if (folder != null && !Files.isDirectory(folder)) {
            Files.createDirectories(folder, ownerOnly(folder, "rwx------"));
        }
        try {
            if (!Files.exists(path)) {
                Files.createFile(path, ownerOnly(path, "rw-------"));
            }
        } catch (FileAlreadyExistsException anotherProcessWasFirst) {
            return;
        }
    }

    /** The path without symbolic links, after {@link #create}. */
    public Path realPath() {
        try {
            return path.toRealPath();
        } catch (IOException failure) {
            throw gone(failure);
        }
    }

    /** What tells the file from one that is made in its place later; null if the file system has no such thing. */
    public @Nullable Object id() {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        } catch (IOException failure) {
            throw gone(failure);
        }
    }

    private StoreException gone(IOException failure) {
        return StoreException.refused(
                path + " was made, but cannot be found: " + failure + ". Somebody has deleted it", failure);
    }

    @Override
    public Connection open() throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.setBusyTimeout(Math.toIntExact(busyTimeout.toMillis()));
        config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL);
        Connection connection = config.createConnection("jdbc:sqlite:" + path);
        boolean ready = false;
        try {
            useWriteAheadLog(connection);
            dialect.prepare(connection);
            dialect.limitWait(connection, busyTimeout);
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                connection.close();
            }
        }
    }

    // The mode is stored in the file. A change of it needs exclusive access, for which SQLite does not always wait.
    private void useWriteAheadLog(Connection connection) throws SQLException {
        long attempts = busyTimeout.toNanos() / RETRY_NANOS + 1;
        try (Statement statement = connection.createStatement()) {
            if (mode(statement, "PRAGMA journal_mode").equals("wal")) {
                return;
            }
            for (long attempt = 1; ; attempt++) {
                try {
                    String mode = mode(statement, "PRAGMA journal_mode = WAL");
                    if (!mode.equals("wal")) {
                        throw StoreException.refused(
                                path + " is in journal mode " + mode
                                        + " and cannot have a write-ahead log: it must be on a"
                                        + " local disk, not on a network file system or in memory",
                                null);
                    }
                    return;
                } catch (SQLException busy) {
                    if (attempt >= attempts || (busy.getErrorCode() & 0xff) != SQLiteErrorCode.SQLITE_BUSY.code) {
                        throw busy;
                    }
                    LockSupport.parkNanos(RETRY_NANOS);
                }
            }
        }
    }

    private static String mode(Statement statement, String pragma) throws SQLException {
        try (ResultSet rows = statement.executeQuery(pragma)) {
            return rows.next() ? rows.getString(1) : "";
        }
    }

    private static FileAttribute<?>[] ownerOnly(Path file, String rights) {
        boolean hasRights = file.getFileSystem().supportedFileAttributeViews().contains("posix");
        return hasRights
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(rights))}
                : new FileAttribute<?>[0];
    }

    @Override
    public Use use() {
        return Use.FOR_EVER;
    }

    /** Does nothing: each connection is closed by the code that opened it. */
    @Override
    public void close() {}

    @Override
    public String toString() {
        return path.toString();
    }
}
