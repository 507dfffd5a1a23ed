package dev.holdfast.testkit.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Stands between a client and a server on this machine, as a network that can lose the two to each other without a word.
 * While it is cut, no byte passes in either direction, no connection ends, and new connections get no answer. What was sent
 * meanwhile arrives when it is healed, late, as TCP delivers it after an outage: so a leader's old renewals come, too. It can also
 * keep back the answers only, be slow, and end all connections.
 *
 * <p>Thread-safe.
 */
public final class BlackHoleProxy implements AutoCloseable {

    private static final int BUFFER = 65_536;

    private final ServerSocket listener;
    private final int target;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    /** Guarded by this object. */
    private boolean cut;
    /** Guarded by this object. */
    private boolean answersCut;
    /** How much later each part of a message arrives. */
    private volatile long delayNanos;
    /** Guarded by this object. */
    private boolean closed;

    /** Work on the sockets, which ends when one of them does. */
    private interface Transfer {
        void run() throws IOException, InterruptedException;
    }

    /** @param target the port of the server */
    public BlackHoleProxy(int target) {
        this(target, InetAddress.getLoopbackAddress());
    }

    /** @param address at which clients find it; the server is always at the loopback address */
    public BlackHoleProxy(int target, InetAddress address) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 50, address);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        start(this::accept);
    }

    /** The port to connect to instead of the server's. */
    public int port() {
        return listener.getLocalPort();
    }

    /** Lets nothing through from now on; what is just being written may still arrive. */
    public synchronized void cut() {
        cut = true;
    }

    /** Lets no answer through from now on. Requests still reach the server. */
    public synchronized void cutAnswers() {
        answersCut = true;
    }

    /** Makes it slow: each part of a message arrives so much later. */
    public void delay(Duration by) {
        delayNanos = by.toNanos();
    }

    /** Ends all connections. What is on its way is lost; new connections are taken. */
    public void endConnections() {
        try {
            for (Socket socket : sockets) {
                end(socket);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Lets everything through again at full speed, first what was held back. */
    public synchronized void heal() {
        cut = false;
        answersCut = false;
        delayNanos = 0;
        notifyAll();
    }

    private synchronized void awaitPassage(boolean answers) throws InterruptedException {
        while ((cut || (answers && answersCut)) && !closed) {
            wait();
        }
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = opened(listener.accept());
            start(() -> connect(client));
        }
    }

    private void connect(Socket client) throws IOException {
        try {
            Socket server = opened(new Socket(InetAddress.getLoopbackAddress(), target));
            start(() -> pass(client, server, false));
            start(() -> pass(server, client, true));
        } catch (IOException refused) {
            end(client);
        }
    }

    private Socket opened(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        return socket;
    }

    private void pass(Socket from, Socket to, boolean answers) throws IOException, InterruptedException {
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[BUFFER];
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                LockSupport.parkNanos(delayNanos);
                awaitPassage(answers);
                out.write(bytes, 0, read);
            }
        } finally {
            // The end of a connection is news that does not pass either.
            awaitPassage(answers);
            end(from);
            end(to);
        }
    }

    private void end(Socket socket) throws IOException {
        sockets.remove(socket);
        socket.close();
    }

    private static void start(Transfer transfer) {
        Thread thread = new Thread(() -> {
            try {
                transfer.run();
            } catch (IOException | InterruptedException ended) {
                // A connection that broke has ended, too.
            }
        });
        thread.setName("black hole proxy");
        thread.setDaemon(true);
        thread.start();
    }

    /** Ends all connections. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            listener.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
