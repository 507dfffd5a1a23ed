package dev.holdfast.memcached;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Stands between a client and a server, and reads the commands of the text protocol. It loses the next command that is
 * chosen, or its answers, together with the connection; or it keeps the answers back until a command has come.
 */
final class LossyProxy implements AutoCloseable {

    /** What is lost with the connection. */
    enum Loss {
        /** The command: the server never sees it. */
        REQUEST,
        /** Its answer: the server has executed the command. */
        ANSWER
    }

    private final ServerSocket listener;
    private final int target;
    private final StringBuilder seen = new StringBuilder();
    private Loss loss = Loss.REQUEST;
    private Predicate<String> chosen = command -> false;
    private String awaited = "";

    LossyProxy(int target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        start(this::accept);
    }

    String url() {
        return "memcached://127.0.0.1:" + listener.getLocalPort();
    }

    /** Loses the next chunk of requests in which there is a command that begins so. */
    synchronized void lose(Loss what, String command) {
        loss = what;
        chosen = text -> ("\n" + text).contains("\n" + command + " ");
    }

    /** Keeps all answers back until a command that begins so has come. */
    synchronized void answerAfter(String command) {
        seen.setLength(0);
        awaited = command;
    }

    /** The first words of the commands since the last call of this method or of {@link #answerAfter}. */
    synchronized String commands() {
        String commands = seen.toString()
                .lines()
                .filter(line -> line.matches("(add|cas|gets|stats|set|delete|touch) ?.*"))
                .map(line -> line.replaceAll(" .*", ""))
                .reduce("", (all, next) -> all.isEmpty() ? next : all + " " + next);
        seen.setLength(0);
        return commands;
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listener.accept();
            Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            AtomicBoolean muted = new AtomicBoolean();
            start(() -> forwardRequests(client, server, muted));
            start(() -> forwardAnswers(server, client, muted));
        }
    }

    private void forwardRequests(Socket client, Socket server, AtomicBoolean muted) throws IOException {
        byte[] bytes = new byte[65_536];
        InputStream in = client.getInputStream();
        OutputStream out = server.getOutputStream();
        for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
            Loss now = lossOf(new String(bytes, 0, read, StandardCharsets.UTF_8));
            if (now == Loss.REQUEST) {
                break;
            }
            muted.set(now == Loss.ANSWER);
            out.write(bytes, 0, read);
            if (now == Loss.ANSWER) {
                break;
            }
        }
        // The server executes what it was sent, and then ends its side; this ends the connection to the client.
        server.shutdownOutput();
    }

    private synchronized @Nullable Loss lossOf(String text) {
        seen.append(text);
        notifyAll();
        if (!chosen.test(text)) {
            return null;
        }
        chosen = command -> false;
        return loss;
    }

    private void forwardAnswers(Socket server, Socket client, AtomicBoolean muted) throws IOException {
        byte[] bytes = new byte[65_536];
        try (client;
                server) {
            InputStream in = server.getInputStream();
            OutputStream out = client.getOutputStream();
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                awaitCommand();
                if (!muted.get()) {
                    out.write(bytes, 0, read);
                }
            }
        }
    }

    private synchronized void awaitCommand() {
        try {
            while (seen.indexOf(awaited) < 0) {
                wait();
            }
            awaited = "";
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
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
        listener.close();
    }
}
