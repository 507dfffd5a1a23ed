package dev.holdfast.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/** Stands between a client and a server, and cuts a connection at the next request or at the next reply. */
public final class CuttingProxy implements AutoCloseable {

    /** The message that is lost with the connection. */
    enum Cut {
        /** The request: the server never sees it. */
        REQUEST,
        /** The reply: the server has run the request. */
        REPLY
    }

    /** Whether a cut leaves both sides without a word, as a network or a machine does that is gone. */
    private volatile boolean silent;

    private volatile boolean onlyAtCommit;

    /** As a command, and not as a part of a setting's name. */
    private static final Pattern COMMIT =
            Pattern.compile("(?<![A-Za-z_])COMMIT(?![A-Za-z_])", Pattern.CASE_INSENSITIVE);

    /** Nothing passes for so long when everything is done, even on a busy machine. */
    private static final long QUIET_NANOS = 100_000_000;

    private static final long MOST_NOISE_NANOS = 10_000_000_000L;

    private final ServerSocket door;
    private final int port;
    private final AtomicReference<Cut> next = new AtomicReference<>();
    private final AtomicLong passing = new AtomicLong();
    private final AtomicLong[] passed = {new AtomicLong(), new AtomicLong()};
    private final List<Trips> tripsOfConnections = new CopyOnWriteArrayList<>();

    public CuttingProxy(int port) {
        this.port = port;
        try {
            door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        start(this::accept);
    }

    public int port() {
        return door.getLocalPort();
    }

    void cutNext(Cut cut) {
        cut(cut, 0);
    }

    /** From the next commit on nothing comes from the client's side any more, and no connection ends. */
    void silenceAtCommit() {
        onlyAtCommit = true;
        silenceAfter(0);
    }

    /** From the next request on nothing comes from the client's side any more, and no connection ends. */
    void silenceAfter(long bytes) {
        silent = true;
        cut(Cut.REQUEST, bytes);
    }

    /** Waits until the pool in front has opened its connections, so that a cut does not hit these. */
    void awaitQuiet() {
        long giveUp = System.nanoTime() + MOST_NOISE_NANOS;
        long before = -1;
        for (long now = bytes(); now != before && System.nanoTime() < giveUp; now = bytes()) {
            before = now;
            LockSupport.parkNanos(QUIET_NANOS);
        }
    }

    private long bytes() {
        return bytes(Cut.REQUEST) + bytes(Cut.REPLY);
    }

    /**
     * Lets some bytes of the direction pass first. Bytes and not messages, because several messages may arrive as one: how
     * many do is up to the machine.
     */
    void cut(Cut cut, long afterBytes) {
        passing.set(afterBytes);
        next.set(cut);
    }

    /** How many bytes went in a direction so far. */
    long bytes(Cut direction) {
        return passed[direction.ordinal()].get();
    }

    void cutNothing() {
        next.set(null);
    }

    boolean hasCut() {
        return next.get() == null;
    }

    /**
     * How often the client of the connection that asked the most has waited for an answer so far. A pool may open further
     * connections at any time, which do nothing but start.
     */
    public int tripsOfBusiestConnection() {
        return tripsOfConnections.stream().mapToInt(Trips::count).max().orElse(0);
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = door.accept();
            Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            Trips trips = new Trips();
            tripsOfConnections.add(trips);
            start(() -> forward(client, server, Cut.REQUEST, trips::asked));
            start(() -> forward(server, client, Cut.REPLY, trips::answered));
        }
    }

    private void forward(Socket from, Socket to, Cut direction, Runnable passes) throws IOException {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[65_536];
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                if (silent && hasCut() && direction == Cut.REQUEST) {
                    awaitClose();
                    return;
                }
                boolean counts = next.get() == direction && (!onlyAtCommit || isCommit(bytes, read));
                long left = counts ? passing.getAndAdd(-read) : Long.MAX_VALUE;
                if (left < read && next.compareAndSet(direction, null)) {
                    out.write(bytes, 0, (int) Math.max(left, 0));
                    awaitClose();
                    return;
                }
                passed[direction.ordinal()].addAndGet(read);
                passes.run();
                out.write(bytes, 0, read);
            }
        }
    }

    /**
     * Counts the turns of a connection whose two ends speak by turns. What is read at once is no measure: the machine
     * decides whether a request arrives in one part or in two.
     */
    private static final class Trips {

        private final AtomicInteger count = new AtomicInteger();
        private final AtomicBoolean answered = new AtomicBoolean(true);

        void asked() {
            if (answered.compareAndSet(true, false)) {
                count.incrementAndGet();
            }
        }

        // Before the answer is passed on, so that the next request comes later.
        void answered() {
            answered.set(true);
        }

        int count() {
            return count.get();
        }
    }

    private static boolean isCommit(byte[] bytes, int length) {
        return COMMIT.matcher(new String(bytes, 0, length, StandardCharsets.ISO_8859_1))
                .find();
    }

    // The connections that are opened later are silent, too.
    private void awaitClose() {
        while (silent && !door.isClosed()) {
            LockSupport.parkNanos(QUIET_NANOS);
        }
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void start(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (IOException closed) {
                return;
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        door.close();
    }
}
