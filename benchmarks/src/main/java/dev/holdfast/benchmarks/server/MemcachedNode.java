package dev.holdfast.benchmarks.server;

import dev.holdfast.testkit.process.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Memcached with its defaults. It counts commands, not round trips. */
public final class MemcachedNode implements Server {

    private static final String PROGRAM = "/usr/bin/memcached";

    private final int port = Ports.reserve();
    private final Daemon daemon;

    public MemcachedNode() {
        daemon = Daemon.start(
                Daemon.folder(""),
                port,
                List.of(
                        Daemon.program("memcached", PROGRAM),
                        "-l",
                        "127.0.0.1",
                        "-p",
                        Integer.toString(port),
                        "-u",
                        "nobody"));
    }

    @Override
    public String url() {
        return "memcached://127.0.0.1:" + port;
    }

    @Override
    public String target() {
        return url();
    }

    @Override
    public String describe() {
        return Daemon.firstLine(PROGRAM, "--version");
    }

    @Override
    public long requests() {
        return stats("cmd_get", "cmd_set");
    }

    @Override
    public long memoryBytes() {
        return stats("bytes");
    }

    private long stats(String... names) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("stats\r\nquit\r\n".getBytes(StandardCharsets.US_ASCII));
            String stats = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            List<String> starts =
                    List.of(names).stream().map(name -> "STAT " + name + " ").toList();
            return stats.lines()
                    .filter(line -> starts.stream().anyMatch(line::startsWith))
                    .mapToLong(line -> Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)))
                    .sum();
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public double cpuSeconds() {
        return daemon.cpuSeconds();
    }

    @Override
    public void close() {
        daemon.close();
    }
}
