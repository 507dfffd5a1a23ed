package dev.holdfast.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A port in front of a server, as a host name is that a name service can lead to another server: connections that are
 * open stay where they are, and new ones go to the new server.
 */
final class MovableName implements AutoCloseable {

    private final ServerSocket door;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private volatile int target;

    MovableName(RedisServer server) {
        this.target = server.port();
        try {
            door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        start(this::accept);
    }

    String url() {
        return "redis://127.0.0.1:" + door.getLocalPort();
    }

    void leadTo(RedisServer server) {
        target = server.port();
    }

    private void accept() {
        while (true) {
            try {
                connect(door.accept());
            } catch (IOException closed) {
                // The test is over.
                return;
            }
        }
    }

    private void connect(Socket client) throws IOException {
        sockets.add(client);
        try {
            Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
            sockets.add(server);
            start(() -> pump(client, server));
            start(() -> pump(server, client));
        } catch (IOException gone) {
            // The client finds that the server is gone by its connection, which ends.
            client.close();
        }
    }

    private static void pump(Socket from, Socket to) {
        try (from;
                to;
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            in.transferTo(out);
        } catch (IOException ended) {
            // One side has closed its connection, so the other one is closed, too.
            return;
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "movable name");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        door.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
