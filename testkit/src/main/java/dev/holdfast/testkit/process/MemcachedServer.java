package dev.holdfast.testkit.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A Memcached server of a test, on a free port of the loopback address. Not thread-safe.
 *
 * <p>A store does not use a server in its first second, so one is ready when it has run for so long, unless it asks for
 * a login or for TLS.
 */
public final class MemcachedServer implements ControlledServer, AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/memcached");
    private static final int ANSWER_MILLIS = 5_000;

    private final ServerProcess process = new ServerProcess("memcached");
    private final List<String> settings;
    private final boolean isOpen;

    private MemcachedServer(List<String> settings) {
        this.settings = List.copyOf(settings);
        this.isOpen = settings.stream().noneMatch(Set.of("-S", "-Y", "-Z")::contains);
    }

    /** Starts a server with further settings, such as {@code -M}. */
    public static MemcachedServer start(String... settings) {
        ServerProcess.require(PROGRAM, "memcached");
        MemcachedServer server = new MemcachedServer(List.of(settings));
        server.startAgain();
        return server;
    }

    /** Prepares a server that is not started yet, for settings that need its {@link #folder}. */
    public static MemcachedServer prepare(String... settings) {
        ServerProcess.require(PROGRAM, "memcached");
        return new MemcachedServer(List.of(settings));
    }

    /** From now on it is started with this before its command, such as {@code env NAME=VALUE}. */
    public void startBehind(List<String> prefix) {
        process.startBehind(prefix);
    }

    /** Starts it, on the same port; it remembers nothing of what it stored before. */
    @Override
    public void startAgain() {
        List<String> command = new ArrayList<>(
                // The library that checks logins by SASL looks for memcached.conf there.
                List.of(
                        "env",
                        "SASL_CONF_PATH=" + process.folder(),
                        PROGRAM.toString(),
                        "-l",
                        "127.0.0.1",
                        "-p",
                        Integer.toString(process.port()),
                        "-u",
                        "nobody"));
        command.addAll(settings);
        process.start(command);
        process.awaitReady(this::hasRunForASecond);
    }

    // It begins to count at up to two. One that asks for a login or for TLS says nothing here.
    private boolean hasRunForASecond() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), process.port())) {
            return !isOpen || stat("uptime") > 2;
        } catch (IOException notYet) {
            return false;
        }
    }

    @Override
    public int port() {
        return process.port();
    }

    public Path folder() {
        return process.folder();
    }

    /** The URL of a store in it. */
    public String url() {
        return "memcached://127.0.0.1:" + process.port();
    }

    /** Sends a signal: STOP freezes it, CONT lets it go on. */
    public void signal(String signal) {
        process.signal(signal);
    }

    @Override
    public void freeze() {
        process.signal("STOP");
    }

    @Override
    public void thaw() {
        process.signal("CONT");
    }

    @Override
    public boolean isRunning() {
        return process.isAlive();
    }

    @Override
    public void kill() {
        process.kill();
    }

    /**
     * Sends lines of the text protocol and returns what the server answers, up to a last line.
     *
     * @param lastLine the line that ends the answer, such as {@code END}
     */
    public String ask(String request, String lastLine) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), process.port())) {
            socket.setSoTimeout(ANSWER_MILLIS);
            socket.getOutputStream().write((request + "\r\n").getBytes(StandardCharsets.UTF_8));
            StringBuilder answer = new StringBuilder();
            while (!(answer.toString().endsWith("\n" + lastLine + "\r\n")
                    || answer.toString().equals(lastLine + "\r\n"))) {
                int next = socket.getInputStream().read();
                if (next < 0) {
                    throw new IOException("the server closed the connection after: " + answer);
                }
                answer.append((char) next);
            }
            return answer.toString();
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }

    /** One of the numbers that {@code stats} prints. */
    public long stat(String name) {
        return ask("stats", "END")
                .lines()
                .filter(line -> line.startsWith("STAT " + name + " "))
                .mapToLong(line -> Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow(() -> new AssertionError("There is no " + name + " in stats"));
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.kill();
        }
        process.removeFolder();
    }
}
