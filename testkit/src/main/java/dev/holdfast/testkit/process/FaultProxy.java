package dev.holdfast.testkit.process;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Stands between clients and a server on the loopback address, as a network that a test can break. At first everything passes at
 * once, in both directions; the end of a connection does, too. The faults can be combined:
 *
 * <ul>
 *   <li>{@link #delay}: everything arrives later.
 *   <li>{@link #silence()}: nothing passes, and no connection ends; what was sent meanwhile arrives after {@link #heal}, as TCP
 *       delivers it after an outage. {@link #silence(Way)} does so in one direction.
 *   <li>{@link #refuse}: connections end, and new ones end at once, until {@link #heal}. {@link #endConnections} lets new ones pass.
 *   <li>{@link #forgetClients}: clients lose their connections, and the server does not learn of it while there is silence.
 *   <li>{@link #cutAfter}: the connection ends in the middle of what is sent.
 *   <li>{@link #judge}: a chosen message is lost with its connection, or its reply is, or it is replaced.
 *   <li>{@link #leadTo}: new connections go to another server.
 * </ul>
 *
 * <p>Requests are judged, counted and cut when they come in, and replies just before they go out, after the delay and the silence:
 * both as their client sees it. Thread-safe.
 */
public final class FaultProxy implements AutoCloseable {

    /** A direction. */
    public enum Way {
        /** That of what clients send. */
        TO_SERVER,
        /** That of what the server sends. */
        TO_CLIENT
    }

    /** Tells where the messages of a protocol end. */
    public interface Framing {

        /** What is read at once is a message. How much that is, is up to the machine: a request may come in two parts. */
        Framing NONE = (in, way) -> {
            byte[] buffer = new byte[65_536];
            int read = in.read(buffer);
            if (read < 0) {
                throw new EOFException();
            }
            return Arrays.copyOf(buffer, read);
        };

        /**
         * Reads the next message.
         *
         * @throws IOException if there is none, because the connection has ended
         */
        byte[] next(InputStream in, Way way) throws IOException;
    }

    /** Decides about messages. It is asked in the order of the messages, for each direction of each connection on a thread of its own. */
    public interface Judge {

        /**
         * Decides what becomes of a message.
         *
         * @param isFirst whether the message is the first one of its direction on its connection
         */
        Fate judge(Way way, boolean isFirst, byte[] message);
    }

    /** What becomes of a message and of its connection. */
    public static final class Fate {

        /** What comes after the message. */
        enum Then {
            MORE,
            END,
            LOST_REPLIES
        }

        private final byte[] bytes;
        private final Then then;

        private Fate(byte[] bytes, Then then) {
            this.bytes = bytes;
            this.then = then;
        }

        /** These bytes arrive instead of the message; mostly they are the message. */
        public static Fate pass(byte[] bytes) {
            return new Fate(bytes, Then.MORE);
        }

        /** Nothing of the message arrives, and the connection ends. */
        public static Fate lose() {
            return loseAfter(new byte[0]);
        }

        /** These bytes arrive, and the connection ends. */
        public static Fate loseAfter(byte[] bytes) {
            return new Fate(bytes, Then.END);
        }

        /**
         * These bytes of a client arrive at the server, and the connection ends when the server has read them and has closed its
         * side. From now on no reply passes, so the client cannot know whether its request was executed; it was.
         */
        public static Fate loseReply(byte[] bytes) {
            return new Fate(bytes, Then.LOST_REPLIES);
        }

        byte[] bytes() {
            return bytes;
        }

        Then then() {
            return then;
        }
    }

    private static final Pattern PORT = Pattern.compile("127\\.0\\.0\\.1:(\\d+)");
    private static final int BACKLOG = 200;
    private static final long RETRY_NANOS = 20_000_000;

    private final ServerSocket door;
    private final Framing framing;
    private final Set<ProxiedConnection> open = ConcurrentHashMap.newKeySet();
    private volatile int target;
    private volatile long delayNanos;
    private volatile long patienceNanos;
    private volatile Judge judge = (way, isFirst, message) -> Fate.pass(message);

    // All below is guarded by this object.
    private final Set<Way> silent = EnumSet.noneOf(Way.class);
    private boolean refuses;
    private boolean closed;
    private final Map<Way, Long> bytes = new EnumMap<>(Way.class);
    private @Nullable Way cut;
    private long bytesBeforeCut;
    private int mostTrips;

    /** @param target the port of the server */
    public FaultProxy(int target) {
        this(target, Framing.NONE);
    }

    /** @param target the port of the server */
    public FaultProxy(int target, Framing framing) {
        this(target, framing, InetAddress.getLoopbackAddress());
    }

    /** @param address at which clients find it; the server is always at the loopback address */
    public FaultProxy(int target, Framing framing, InetAddress address) {
        this.target = target;
        this.framing = framing;
        try {
            door = new ServerSocket(0, BACKLOG, address);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        start(this::accept);
    }

    /** A proxy in front of the server of a URL, which names it by {@code 127.0.0.1} and a port. */
    public static FaultProxy before(String url) {
        Matcher port = PORT.matcher(url);
        if (!port.find()) {
            throw new IllegalArgumentException(url + " has no 127.0.0.1 with a port");
        }
        return new FaultProxy(Integer.parseInt(port.group(1)));
    }

    /** The port to connect to instead of the server's. */
    public int port() {
        return door.getLocalPort();
    }

    /** Host and port to connect to instead of the server's. */
    public String address() {
        return "127.0.0.1:" + port();
    }

    /** The URL of a server with this proxy in place of the server. */
    public String in(String url) {
        return PORT.matcher(url).replaceFirst(address());
    }

    /** From now on new connections lead to another server. Those that are open stay where they are. */
    public void leadTo(int newTarget) {
        target = newTarget;
    }

    /** How long a new connection waits for a server that refuses it; at first it ends at once. */
    public void awaitServer(Duration patience) {
        patienceNanos = patience.toNanos();
    }

    /** From now on everything arrives so much later, in each direction. Bytes on the way keep their distances. */
    public void delay(Duration oneWay) {
        delayNanos = oneWay.toNanos();
    }

    /** From now on nothing passes, in no direction; what is just being written may still arrive. New connections get no answer. */
    public synchronized void silence() {
        silence(Way.TO_SERVER);
        silence(Way.TO_CLIENT);
    }

    /** From now on nothing passes in this direction, not even the news that a connection has ended. */
    public synchronized void silence(Way way) {
        silent.add(way);
    }

    public synchronized boolean isSilent(Way way) {
        return silent.contains(way);
    }

    /** Ends all connections, and from now on new ones at once. */
    public void refuse() {
        synchronized (this) {
            refuses = true;
        }
        endConnections();
    }

    /** Ends silence, refusal and delay. First that arrives which was held back. */
    public synchronized void heal() {
        silent.clear();
        refuses = false;
        delayNanos = 0;
        notifyAll();
    }

    /** Ends all connections at both sides, whatever is on the way. */
    public void endConnections() {
        open.forEach(ProxiedConnection::end);
    }

    /** Ends all connections at the clients' side. The server learns of it as of all else: after delay and silence. */
    public void forgetClients() {
        open.forEach(ProxiedConnection::endClient);
    }

    /** From now on asks a judge about each message, instead of the last judge. */
    public void judge(Judge newJudge) {
        judge = newJudge;
    }

    /**
     * Lets so many bytes pass in a direction, on all connections together, and ends the connection of the next one in front of it.
     * Bytes and not messages, because it is up to the machine how many messages arrive at once.
     */
    public synchronized void cutAfter(Way way, long count) {
        cut = way;
        bytesBeforeCut = count;
    }

    /** Undoes {@link #cutAfter}, if it was not reached yet. */
    public synchronized void cutNothing() {
        cut = null;
    }

    /** Whether the point of the last {@link #cutAfter} was reached. */
    public synchronized boolean hasCut() {
        return cut == null;
    }

    /** How many bytes came in a direction so far, on all connections. */
    public synchronized long bytes(Way way) {
        return bytes.getOrDefault(way, 0L);
    }

    /**
     * How often the client of the connection that asked the most has waited for an answer so far, if its two ends speak by turns. A
     * pool may open further connections at any time, which do nothing but start.
     */
    public synchronized int tripsOfBusiestConnection() {
        return mostTrips;
    }

    /** Whether a client is connected. */
    public boolean isUsed() {
        return !open.isEmpty();
    }

    private void accept() throws IOException {
        while (true) {
            ProxiedConnection connection = new ProxiedConnection(this, door.accept());
            // Either it is refused here, or it is ended by whoever refuses all.
            open.add(connection);
            if (isRefused()) {
                connection.end();
            } else {
                start(connection::connect);
            }
        }
    }

    private synchronized boolean isRefused() {
        return refuses || closed;
    }

    /** A new connection to the server. A silent network does not let this pass either. */
    Socket connected() throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (true) {
            awaitPassage(Way.TO_SERVER);
            try {
                return new Socket(InetAddress.getLoopbackAddress(), target);
            } catch (ConnectException refused) {
                if (System.nanoTime() - start >= patienceNanos) {
                    throw refused;
                }
                LockSupport.parkNanos(RETRY_NANOS);
            }
        }
    }

    byte[] next(InputStream in, Way way) throws IOException {
        return framing.next(in, way);
    }

    /** When a message arrives that was sent now. */
    long due() {
        return System.nanoTime() + delayNanos;
    }

    synchronized void awaitPassage(Way way) throws IOException, InterruptedException {
        while (silent.contains(way) && !closed) {
            wait();
        }
        if (closed) {
            throw new EOFException("the proxy was closed");
        }
    }

    Fate fate(Way way, boolean isFirst, byte[] message) {
        Fate judged = judge.judge(way, isFirst, message);
        synchronized (this) {
            bytes.merge(way, (long) message.length, Long::sum);
            if (cut != way) {
                return judged;
            }
            if (bytesBeforeCut < message.length) {
                cut = null;
                return Fate.loseAfter(Arrays.copyOf(message, (int) bytesBeforeCut));
            }
            bytesBeforeCut -= message.length;
            return judged;
        }
    }

    synchronized void count(int trips) {
        mostTrips = Math.max(mostTrips, trips);
    }

    void over(ProxiedConnection connection) {
        open.remove(connection);
    }

    /** Work on sockets, which ends when one of them does. */
    interface Transfer {
        void run() throws IOException, InterruptedException;
    }

    static void start(Transfer transfer) {
        Thread thread = new Thread(() -> {
            try {
                transfer.run();
            } catch (IOException | InterruptedException ended) {
                // A connection that broke has ended, too.
            }
        });
        thread.setName("fault proxy");
        thread.setDaemon(true);
        thread.start();
    }

    /** Ends all connections. What was held back never arrives. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            door.close();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        endConnections();
    }
}
