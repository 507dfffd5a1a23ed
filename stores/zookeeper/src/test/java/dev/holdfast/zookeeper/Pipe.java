package dev.holdfast.zookeeper;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Forwards bytes between two servers. It can stop without closing a connection, like a network that drops packets. Like the
 * servers themselves, it sends each message at once: else one waits for the acknowledgement of the one before, 40 ms each time.
 */
final class Pipe implements AutoCloseable {

    private static final long CONNECT_TIMEOUT_NANOS = 2_000_000_000;

    private final ServerSocket listener;
    private final int target;
    private final Set<Socket> callers = ConcurrentHashMap.newKeySet();
    private final Set<Socket> called = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;
    private volatile boolean halfOpen;

    Pipe(int target) {
        this.target = target;
        try {
            this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
        daemon(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Whether it has a connection. */
    boolean isUsed() {
        return !callers.isEmpty();
    }

    void stop() {
        stopped = true;
    }

    /** Stops, and closes the connections of those who made them; to the target they look open and silent. */
    void abandonTarget() {
        stopped = true;
        halfOpen = true;
        callers.forEach(Pipe::close);
    }

    /** Forwards again. Connections that were abandoned are closed. */
    void resume() {
        stopped = false;
        if (halfOpen) {
            halfOpen = false;
            called.forEach(Pipe::close);
        }
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket from = listener.accept();
                daemon(() -> connect(from));
            } catch (IOException closed) {
                return;
            }
        }
    }

    // Must not accept a connection and then close it: a server would take that for a reply, and would not try
    // again.
    private void connect(Socket from) {
        long deadline = System.nanoTime() + CONNECT_TIMEOUT_NANOS;
        while (System.nanoTime() - deadline < 0) {
            awaitResume();
            try {
                Socket to = new Socket(InetAddress.getLoopbackAddress(), target);
                from.setTcpNoDelay(true);
                to.setTcpNoDelay(true);
                callers.add(from);
                called.add(to);
                daemon(() -> pump(from, to));
                daemon(() -> pump(to, from));
                return;
            } catch (IOException refused) {
                LockSupport.parkNanos(20_000_000);
            }
        }
        close(from);
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }

    private void pump(Socket from, Socket to) {
        byte[] buffer = new byte[8_192];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                awaitResume();
                out.write(buffer, 0, read);
                out.flush();
            }
        } catch (IOException broken) {
            // A broken connection is treated like a closed one.
        }
        if (!halfOpen) {
            for (Socket socket : List.of(from, to)) {
                close(socket);
                callers.remove(socket);
                called.remove(socket);
            }
        }
    }

    private void awaitResume() {
        while (stopped && !listener.isClosed()) {
            LockSupport.parkNanos(5_000_000);
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "pipe");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        try {
            listener.close();
            callers.forEach(Pipe::close);
            called.forEach(Pipe::close);
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }
}
