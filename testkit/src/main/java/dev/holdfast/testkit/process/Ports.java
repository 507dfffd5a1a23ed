package dev.holdfast.testkit.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports of the loopback address for servers that tests start.
 *
 * <p>A port that was found free may be in use when the server has created its files and binds it: other tests in
 * other processes look for ports at the same time, and a client's end of a connection may get it, too. Then a test
 * would talk to another test's server. So a port is marked as taken, by a lock on a file, until this JVM ends, and
 * lies below the ports that the system gives to clients.
 */
public final class Ports {

    static final int FIRST = 20_000;
    private static final int AFTER_LAST = 32_000;
    private static final int MOST_TRIES = 1_000;

    /** The marks of this JVM by their ports. Any kind of end of the JVM closes them. */
    private static final Map<Integer, FileChannel> MARKS = new HashMap<>();

    private Ports() {}

    /**
     * Reserves a port that nobody listens on, and that no other call of this method returns, in any process of this
     * user.
     */
    public static int reserve() {
        return reserve(AFTER_LAST, 0);
    }

    /**
     * Reserves a port for a server that needs a second port, which is higher by {@code further}. Clients do not get
     * this one either.
     */
    public static int reserveWith(int further) {
        return reserve(AFTER_LAST - further, further);
    }

    private static synchronized int reserve(int afterLast, int further) {
        for (int i = 0; i < MOST_TRIES; i++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, afterLast);
            if (mark(port) && isFree(port) && (further == 0 || (mark(port + further) && isFree(port + further)))) {
                return port;
            }
        }
        throw new AssertionError("No port between " + FIRST + " and " + afterLast + " is free");
    }

    private static boolean mark(int port) {
        // A file that is locked here must not be opened again: POSIX drops a process's locks on a file as soon as the
        // process closes any descriptor of it.
        if (MARKS.containsKey(port)) {
            return false;
        }
        try {
            Path folder =
                    Path.of(System.getProperty("java.io.tmpdir"), "holdfast-ports-" + System.getProperty("user.name"));
            Files.createDirectories(folder);
            FileChannel mark = FileChannel.open(
                    folder.resolve(Integer.toString(port)), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            return lock(port, mark);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static boolean lock(int port, FileChannel mark) throws IOException {
        try {
            if (mark.tryLock() == null) {
                mark.close();
                return false;
            }
            MARKS.put(port, mark);
            return true;
        } catch (OverlappingFileLockException lockedByThisJvm) {
            // By a class of this name that another class loader has loaded, as repeat-tests does. The file stays open,
            // since to close it would drop that lock.
            MARKS.put(port, mark);
            return false;
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException taken) {
            return false;
        }
    }
}
