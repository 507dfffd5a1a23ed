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
 * Stands between a client and a server of ZooKeeper: counts requests by kind and the turns from client to server, delays what
 * passes, and breaks the connection at a chosen request, before or after the server has seen it.
 */
public final class Proxy implements AutoCloseable {

    /** What is done with a request. */
    enum Deed {
        PASS,
        /** The connection breaks, and the server sees nothing. */
        CUT_BEFORE,
        /** The server sees it, and the connection breaks before the answer comes. */
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
            Map.entry(19, "createContainer"),
            Map.entry(103, "getEphemerals"),
            Map.entry(-11, "closeSession"));

    private final ServerSocket listener;
    private final int target;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> counts = new HashMap<>();
    private volatile Function<String, Deed> deeds = kind -> Deed.PASS;
    private volatile long delayNanos;
    private volatile boolean open = true;
    private int turns;
    private boolean answeredSince = true;

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

    /** Everything takes so long, in each direction. */
    Proxy delay(Duration oneWay) {
        delayNanos = oneWay.toNanos();
        return this;
    }

    /** What happens to requests from now on, by their kind. */
    void onRequest(Function<String, Deed> what) {
        deeds = what;
    }

    /** Breaks all connections, and lets none be made, until {@link #resume}. */
    public void cut() {
        open = false;
        sockets.forEach(Proxy::close);
    }

    void resume() {
        open = true;
    }

    synchronized void reset() {
        counts.clear();
        turns = 0;
        answeredSince = true;
    }

    /** How many requests of each kind there were; not the client's signs of life. */
    synchronized Map<String, Integer> counts() {
        return new TreeMap<>(counts);
    }

    /** How many requests there were. */
    synchronized int total() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** How often a request was sent after an answer had come: the round trips, if one thing is done at a time. */
    synchronized int turns() {
        return turns;
    }

    private synchronized void requested(String kind) {
        counts.merge(kind, 1, Integer::sum);
        if (answeredSince) {
            turns++;
            answeredSince = false;
        }
    }

    private synchronized void answered() {
        answeredSince = true;
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
                boolean sign = first || header.getInt() < 0;
                first = false;
                Deed deed = Deed.PASS;
                if (requests && !sign) {
                    String kind = KINDS.getOrDefault(header.getInt(), "other");
                    deed = deeds.apply(kind);
                    requested(kind);
                }
                if (deed == Deed.CUT_BEFORE) {
                    break;
                }
                boolean answer = !requests && !sign;
                if (deed == Deed.CUT_AFTER) {
                    // What the server answers from now on is lost, and it may answer as soon as it has the request.
                    close(from);
                }
                frames.add(new Frame(System.nanoTime() + delayNanos, bytes, answer, deed == Deed.CUT_AFTER));
                if (deed == Deed.CUT_AFTER) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
                    break;
                }
            }
        } catch (EOFException ended) {
            // the other side has closed
        } catch (IOException broken) {
            // as good as closed
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
                if (frame.counted()) {
                    answered();
                }
                out.writeInt(frame.bytes().length);
                out.write(frame.bytes());
                out.flush();
            }
        } catch (IOException | InterruptedException broken) {
            // as good as closed
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
            // it is closed
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

    /** Kinds of requests with their numbers, for {@link #counts}. */
    static Map<String, Integer> only(Object... kindsAndNumbers) {
        Map<String, Integer> map = new TreeMap<>();
        for (int i = 0; i < List.of(kindsAndNumbers).size(); i += 2) {
            map.put((String) kindsAndNumbers[i], (Integer) kindsAndNumbers[i + 1]);
        }
        return map;
    }
}
