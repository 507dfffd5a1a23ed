package dev.holdfast.etcd;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;

/** Forwards data in both directions, each part after a fixed delay. */
final class SlowProxy implements AutoCloseable {

    private final ServerSocket entrance;
    private final int port;
    private final long delayNanos;
    private final List<Socket> sockets = Collections.synchronizedList(new ArrayList<>());

    private record Chunk(byte[] bytes, long due) {}

    SlowProxy(int port, long delayMillis) {
        this.port = port;
        this.delayNanos = delayMillis * 1_000_000;
        try {
            this.entrance = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        begin(this::accept);
    }

    int port() {
        return entrance.getLocalPort();
    }

    private void accept() throws IOException, InterruptedException {
        while (!entrance.isClosed()) {
            Socket client = entrance.accept();
            Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            sockets.addAll(List.of(client, server));
            pump(client, server);
            pump(server, client);
        }
    }

    private void pump(Socket from, Socket to) {
        LinkedBlockingQueue<Chunk> chunks = new LinkedBlockingQueue<>();
        begin(() -> {
            byte[] buffer = new byte[65_536];
            for (int read = from.getInputStream().read(buffer);
                    read >= 0;
                    read = from.getInputStream().read(buffer)) {
                byte[] bytes = java.util.Arrays.copyOf(buffer, read);
                chunks.add(new Chunk(bytes, System.nanoTime() + delayNanos));
            }
            to.close();
        });
        begin(() -> {
            OutputStream out = to.getOutputStream();
            while (!to.isClosed()) {
                Chunk chunk = chunks.take();
                long wait = chunk.due() - System.nanoTime();
                if (wait > 0) {
                    Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
                }
                out.write(chunk.bytes());
                out.flush();
            }
        });
    }

    private interface Work {
        void run() throws IOException, InterruptedException;
    }

    private static void begin(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException | InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        try {
            entrance.close();
            for (Socket socket : List.copyOf(sockets)) {
                socket.close();
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
