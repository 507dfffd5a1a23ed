package dev.holdfast.quorum;

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
 * The line between clients and a server of this machine. It can be cut: then nothing passes and nobody hears of it, as when a
 * network drops all packets. New connections seem to be accepted, and wait too.
 */
final class Line implements AutoCloseable {

    private final ServerSocket door;
    private final int server;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private boolean cut;

    /** @param server the port to which the line leads */
    Line(int server) {
        this.server = server;
        try {
            door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        start(this::accept);
    }

    int port() {
        return door.getLocalPort();
    }

    synchronized void cut() {
        cut = true;
    }

    /** Lets what has waited pass, on connections old and new: the servers hear requests that their clients gave up long ago. */
    synchronized void mend() {
        cut = false;
        notifyAll();
    }

    private synchronized void awaitMended() throws InterruptedException {
        while (cut) {
            wait();
        }
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = door.accept();
            start(() -> connect(client));
        }
    }

    private void connect(Socket client) throws IOException, InterruptedException {
        sockets.add(client);
        awaitMended();
        Socket there = new Socket(InetAddress.getLoopbackAddress(), server);
        sockets.add(there);
        client.setTcpNoDelay(true);
        there.setTcpNoDelay(true);
        start(() -> forward(client, there));
        start(() -> forward(there, client));
    }

    private void forward(Socket from, Socket to) throws IOException, InterruptedException {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[65_536];
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                awaitMended();
                out.write(bytes, 0, read);
            }
        } finally {
            sockets.remove(from);
            sockets.remove(to);
        }
    }

    private interface Task {
        void run() throws IOException, InterruptedException;
    }

    private static void start(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (IOException | InterruptedException closed) {
                return;
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        door.close();
        mend();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
