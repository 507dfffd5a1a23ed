package dev.holdfast.benchmarks.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Passes bytes on, each a fixed time after it came, in both directions. Bytes in flight keep their distances. */
public final class DelayProxy implements AutoCloseable {

    private final ServerSocket listener;
    private final int target;
    private final long delayNanos;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

    public DelayProxy(int target, long millis) throws IOException {
        this.target = target;
        this.delayNanos = TimeUnit.MILLISECONDS.toNanos(millis);
        this.listener = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        start("accept", this::accept);
    }

    public int port() {
        return listener.getLocalPort();
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, "proxy-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = open(listener.accept());
                Socket server = open(new Socket(InetAddress.getLoopbackAddress(), target));
                connect(client, server);
                connect(server, client);
            }
        } catch (IOException closed) {
            // Closing the listener ends the proxy.
        }
    }

    private Socket open(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        return socket;
    }

    private record Piece(long dueAt, byte[] bytes) {}

    private void connect(Socket from, Socket to) {
        BlockingQueue<Piece> flying = new LinkedBlockingQueue<>();
        start("read", () -> read(from, flying));
        start("write", () -> write(to, flying));
    }

    private void read(Socket from, BlockingQueue<Piece> flying) {
        byte[] buffer = new byte[65_536];
        try {
            InputStream in = from.getInputStream();
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                flying.add(new Piece(System.nanoTime() + delayNanos, Arrays.copyOf(buffer, length)));
            }
        } catch (IOException closed) {
            // The end is passed on below.
        }
        flying.add(new Piece(System.nanoTime() + delayNanos, new byte[0]));
    }

    private void write(Socket to, BlockingQueue<Piece> flying) {
        try (to) {
            OutputStream out = to.getOutputStream();
            for (Piece piece = flying.take(); piece.bytes.length > 0; piece = flying.take()) {
                for (long left = piece.dueAt - System.nanoTime(); left > 0; left = piece.dueAt - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                out.write(piece.bytes);
            }
        } catch (IOException | InterruptedException closed) {
            // The receiver is gone.
        } finally {
            sockets.remove(to);
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException gone) {
            // It was closed already.
        }
    }
}
