package dev.holdfast.zookeeper;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * A proxy between a client and a server of ZooKeeper. It counts requests by kind, counts round trips, delays all
 * messages, and can break the connection at a chosen request, before or after the server receives it.
 */
public final class Proxy implements AutoCloseable {

    /** What the proxy does with a request. */
    enum Action {
        /** The request is forwarded. */
        PASS,
        /** The connection breaks, and the server does not receive the request. */
        CUT_BEFORE,
        /** The server receives the request, and the connection breaks before its reply arrives. */
        CUT_AFTER
    }

    private static final Map<Integer, String> KINDS = Map.ofEntries(
            Map.entry(1, "create"),
            Map.entry(2, "delete"),
            Map.entry(3, "exists"),
            Map.entry(4, "getData"),
            Map.entry(5, "setData"),
            Map.entry(8, "getChildren"),
            Map.entry(9, "sync"),
            Map.entry(12, "getChildren2"),
            Map.entry(14, "multi"),
            Map.entry(15, "create2"),
            Map.entry(17, "checkWatches"),
            Map.entry(18, "removeWatches"),
            Map.entry(19, "createContainer"),
            Map.entry(103, "getEphemerals"),
            Map.entry(-11, "closeSession"));

    private final ServerSocket listener;
    private final int target;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> counts = new HashMap<>();
    private volatile Function<String, Action> actions = kind -> Action.PASS;
    private volatile long delayNanos;
    private volatile boolean open = true;
    private volatile boolean holdsReplies;
    private int roundTrips;
    private long replyBytes;
    private boolean repliedSince = true;

    Proxy(String hosts) {
        this(Integer.parseInt(hosts.substring(hosts.lastIndexOf(':') + 1)));
    }

    Proxy(int target) {
        this.target = target;
        try {
            this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
        daemon("proxy accepts", this::accept);
    }

    public String hosts() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Delays all messages by this time in each direction. */
    Proxy delay(Duration oneWay) {
        delayNanos = oneWay.toNanos();
        return this;
    }

    /** Keeps all replies back, so that whatever is requested now is requested before any reply. */
    void holdReplies() {
        holdsReplies = true;
    }

    void letReplies() {
        holdsReplies = false;
    }

    /** Sets what the proxy does with requests from now on, by their kind. */
    void onRequest(Function<String, Action> what) {
        actions = what;
    }

    /** Breaks all connections, and accepts no new ones until {@link #resume}. */
    public void cut() {
        open = false;
        sockets.forEach(Proxy::close);
    }

    void resume() {
        open = true;
    }

    synchronized void reset() {
        counts.clear();
        roundTrips = 0;
        replyBytes = 0;
        repliedSince = true;
    }

    /** The number of requests of each kind, without the client's pings. */
    synchronized Map<String, Integer> counts() {
        return new TreeMap<>(counts);
    }

    /** The number of all requests. */
    synchronized int total() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** How often a request followed a reply: the number of round trips if there is only one call at a time. */
    synchronized int roundTrips() {
        return roundTrips;
    }

    /** The size of all replies. */
    synchronized long replyBytes() {
        return replyBytes;
    }

    private synchronized void requested(String kind) {
        counts.merge(kind, 1, Integer::sum);
        if (repliedSince) {
            roundTrips++;
            repliedSince = false;
        }
    }

    private synchronized void answered(int bytes) {
        repliedSince = true;
        replyBytes += bytes;
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                if (!open) {
                    close(client);
                    continue;
                }
                Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                client.setTcpNoDelay(true);
                server.setTcpNoDelay(true);
                sockets.add(client);
                sockets.add(server);
                pump(client, server, true);
                pump(server, client, false);
            } catch (IOException refused) {
                LockSupport.parkNanos(1_000_000);
            }
        }
    }

    private record Frame(long due, byte[] bytes, boolean counted, boolean last) {}

    private void pump(Socket from, Socket to, boolean requests) {
        BlockingQueue<Frame> frames = new LinkedBlockingQueue<>();
        daemon("proxy reads", () -> read(from, to, frames, requests));
        daemon("proxy writes", () -> write(from, to, frames));
    }

    private void read(Socket from, Socket to, BlockingQueue<Frame> frames, boolean requests) {
        try (DataInputStream in = new DataInputStream(new java.io.BufferedInputStream(from.getInputStream()))) {
            boolean first = true;
            while (true) {
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                ByteBuffer header = ByteBuffer.wrap(bytes);
                boolean uncounted = first || header.getInt() < 0;
                first = false;
                Action action = Action.PASS;
                if (requests && !uncounted) {
                    String kind = KINDS.getOrDefault(header.getInt(), "other");
                    action = actions.apply(kind);
                    requested(kind);
                }
                if (action == Action.CUT_BEFORE) {
                    break;
                }
                boolean answer = !requests && !uncounted;
                if (action == Action.CUT_AFTER) {
                    // Closes the client's side first, because the server may reply as soon as it has the request.
                    close(from);
                }
                frames.add(new Frame(System.nanoTime() + delayNanos, bytes, answer, action == Action.CUT_AFTER));
                if (action == Action.CUT_AFTER) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
                    break;
                }
            }
        } catch (EOFException ended) {
            // The peer has closed the connection.
        } catch (IOException broken) {
            // A broken connection is treated like a closed one.
        }
        close(from);
        close(to);
    }

    private void write(Socket from, Socket to, BlockingQueue<Frame> frames) {
        try (DataOutputStream out = new DataOutputStream(new java.io.BufferedOutputStream(to.getOutputStream()))) {
            while (!to.isClosed()) {
                Frame frame = frames.poll(100, TimeUnit.MILLISECONDS);
                if (frame == null) {
                    continue;
                }
                long early = frame.due() - System.nanoTime();
                if (early > 0) {
                    LockSupport.parkNanos(early);
                }
                while (frame.counted() && holdsReplies && !to.isClosed()) {
                    LockSupport.parkNanos(1_000_000);
                }
                if (frame.counted()) {
                    answered(frame.bytes().length);
                }
                out.writeInt(frame.bytes().length);
                out.write(frame.bytes());
                out.flush();
            }
        } catch (IOException | InterruptedException broken) {
            // A broken connection is treated like a closed one.
        }
        close(to);
    }

    private static void daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException ignored) {
            // The socket is closed all the same.
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
        new ArrayList<>(sockets).forEach(Proxy::close);
    }

    /** Expected counts by kind of request, to compare with {@link #counts}. */
    static Map<String, Integer> only(Object... kindsAndNumbers) {
        Map<String, Integer> map = new TreeMap<>();
        for (int i = 0; i < List.of(kindsAndNumbers).size(); i += 2) {
            map.put((String) kindsAndNumbers[i], (Integer) kindsAndNumbers[i + 1]);
        }
        return map;
    }
}
