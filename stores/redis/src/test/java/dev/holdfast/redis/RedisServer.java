package dev.holdfast.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import redis.clients.jedis.Jedis;

/** A real server for a test: on a free port of the loopback address, with its data in a folder of its own. */
final class RedisServer implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/redis-server");
    private static final int TRIES = 500;

    private final Path folder;
    private final int port;
    private final List<String> settings;
    private Process process;

    private RedisServer(Path folder, int port, List<String> settings) {
        this.folder = folder;
        this.port = port;
        this.settings = settings;
    }

    /** Starts a server with further settings, such as {@code --appendonly yes}. */
    static RedisServer start(String... settings) {
        if (!Files.isExecutable(PROGRAM)) {
            throw new AssertionError("These tests need a Redis server: apt-get install redis-server");
        }
        try {
            RedisServer server =
                    new RedisServer(Files.createTempDirectory("holdfast-redis"), freePort(), List.of(settings));
            server.startAgain();
            return server;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Starts it after {@link #stop} or {@link #kill}, on the same port and data. */
    void startAgain() {
        List<String> command = new ArrayList<>(List.of(
                PROGRAM.toString(),
                "--bind",
                "127.0.0.1",
                "--port",
                Integer.toString(port),
                "--dir",
                folder.toString(),
                "--save",
                ""));
        command.addAll(settings);
        try {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("log").toFile())
                    .start();
            for (int i = 0; !answers(); i++) {
                if (i > TRIES || !process.isAlive()) {
                    throw new AssertionError("The server did not start: " + Files.readString(folder.resolve("log")));
                }
                Thread.sleep(10);
            }
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    // An error is an answer too: a server with a password asks for it.
    private boolean answers() {
        try (Jedis jedis = new Jedis("127.0.0.1", port)) {
            jedis.ping();
            return true;
        } catch (redis.clients.jedis.exceptions.JedisDataException error) {
            return !String.valueOf(error.getMessage()).startsWith("LOADING");
        } catch (redis.clients.jedis.exceptions.JedisException notYet) {
            return false;
        }
    }

    int port() {
        return port;
    }

    String url() {
        return "redis://127.0.0.1:" + port;
    }

    /** A connection of the test's own. */
    Jedis connect() {
        return new Jedis("127.0.0.1", port);
    }

    /** Ends the process as it should be ended, and waits for it. */
    void stop() {
        process.destroy();
        awaitEnd();
    }

    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** Sends a signal: STOP freezes, CONT lets it go on. */
    void signal(String name) {
        try {
            new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                    .start()
                    .waitFor();
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    private void awaitEnd() {
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    /** How often each command was called since the last {@code CONFIG RESETSTAT}; those inside scripts count too. */
    static Map<String, Long> calls(Jedis jedis) {
        Map<String, Long> calls = new TreeMap<>();
        for (String line : jedis.info("commandstats").split("\r?\n")) {
            if (line.startsWith("cmdstat_")) {
                String name = line.substring("cmdstat_".length(), line.indexOf(':'));
                calls.put(name, Long.parseLong(line.replaceAll("[^:]*:calls=(\\d+),.*", "$1")));
            }
        }
        return calls;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    @Override
    public void close() {
        signal("CONT");
        kill();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
