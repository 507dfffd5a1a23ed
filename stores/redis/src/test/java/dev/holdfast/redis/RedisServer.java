package dev.holdfast.redis;

import dev.holdfast.testkit.process.Ports;
import dev.holdfast.testkit.process.Signals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import redis.clients.jedis.Jedis;

/** A real server for a test: on a free port of the loopback address, with its data in a folder of its own. */
public final class RedisServer implements AutoCloseable {

    private static final Path INSTALLED = Path.of("/usr/bin/redis-server");
    private static final int TRIES = 2_000;
    private static final int BUS_OFFSET = 10_000;

    private final Path program;
    private final Path folder;
    private final int port;
    private final int tlsPort;
    private final boolean sentinel;
    private final List<String> settings;
    private Process process;

    private RedisServer(Path program, Path folder, int port, int tlsPort, boolean sentinel, List<String> settings) {
        this.program = program;
        this.folder = folder;
        this.port = port;
        this.tlsPort = tlsPort;
        this.sentinel = sentinel;
        this.settings = settings;
    }

    /** Starts a server with further settings, such as {@code --appendonly yes}. */
    public static RedisServer start(String... settings) {
        return start(installed(), newFolder(), false, List.of(settings));
    }

    /** Starts a server with its data in a folder below this one. */
    static RedisServer startBelow(Path parent, String... settings) throws IOException {
        return start(installed(), Files.createTempDirectory(parent, "redis"), false, List.of(settings));
    }

    /** Starts a Redis 6.2.7, whose program a jar from Maven Central brings along. */
    public static RedisServer startOld(String... settings) {
        return start(OldRedis.program(), newFolder(), false, List.of(settings));
    }

    /** Starts a Sentinel that watches nothing yet. */
    static RedisServer startSentinel(String... settings) {
        return start(installed(), newFolder(), true, List.of(settings));
    }

    /** Starts a Sentinel with these lines in its file of settings, which may also say what happened before. */
    static RedisServer startSentinelWith(String... lines) {
        Path folder = newFolder();
        try {
            Files.write(folder.resolve("sentinel.conf"), List.of(lines));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return start(installed(), folder, true, List.of());
    }

    private static Path installed() {
        if (!Files.isExecutable(INSTALLED)) {
            throw new AssertionError("These tests need a Redis server: apt-get install redis-server");
        }
        return INSTALLED;
    }

    private static Path newFolder() {
        try {
            return Files.createTempDirectory("holdfast-redis");
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static RedisServer start(Path program, Path folder, boolean sentinel, List<String> settings) {
        boolean withBus = settings.contains("--cluster-enabled");
        int port = port(withBus);
        int tlsPort = settings.contains("--tls-cert-file") ? port(withBus) : 0;
        RedisServer server = new RedisServer(program, folder, port, tlsPort, sentinel, settings);
        server.startAgain();
        return server;
    }

    /** Starts it after {@link #stop} or {@link #kill}, on the same port and data; with further settings. */
    public void startAgain(String... further) {
        startAgainUnready(further);
        awaitReady();
    }

    /** Like {@link #startAgain}, but does not wait until the server answers. */
    void startAgainUnready(String... further) {
        List<String> command = new ArrayList<>(List.of(
                program.toString(),
                "--bind",
                "127.0.0.1",
                "--port",
                Integer.toString(port),
                "--dir",
                folder.toString(),
                "--save",
                ""));
        try {
            if (sentinel) {
                Path file = folder.resolve("sentinel.conf");
                if (!Files.exists(file)) {
                    Files.createFile(file);
                }
                command = new ArrayList<>(List.of(
                        program.toString(),
                        file.toString(),
                        "--sentinel",
                        "--bind",
                        "127.0.0.1",
                        "--port",
                        Integer.toString(port)));
            }
            if (tlsPort > 0) {
                command.addAll(List.of("--tls-port", Integer.toString(tlsPort)));
            }
            command.addAll(settings);
            command.addAll(List.of(further));
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("log").toFile())
                    .start();
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }

    /** Waits until the server answers, and has read its data. */
    void awaitReady() {
        try {
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

    // An error is also an answer: a server with a password asks for it.
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

    public int port() {
        return port;
    }

    /** The second port, of a server with a certificate. */
    public int tlsPort() {
        return tlsPort;
    }

    /** The port at which other servers connect to this one: the second port if it has a certificate. */
    int peerPort() {
        return tlsPort > 0 ? tlsPort : port;
    }

    public String url() {
        return "redis://127.0.0.1:" + port;
    }

    /** A separate connection for the test, without TLS. */
    Jedis connect() {
        Jedis jedis = new Jedis("127.0.0.1", port);
        int password = settings.indexOf("--requirepass");
        if (password >= 0) {
            jedis.auth(settings.get(password + 1));
        }
        return jedis;
    }

    /** Sends a command on a connection of {@link #connect}. */
    public <T> T ask(Function<Jedis, T> question) {
        try (Jedis jedis = connect()) {
            return question.apply(jedis);
        }
    }

    /** Shuts the process down regularly, and waits for its end. */
    void stop() {
        process.destroy();
        awaitEnd();
    }

    public void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** Sends a signal: STOP freezes the process, CONT resumes it. */
    public void signal(String name) {
        Signals.send(name, process.pid());
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

    /** Makes this server a replica of another one, and waits until it has the data of that one. */
    void follow(RedisServer primary) {
        primary.ask(jedis -> jedis.configSet("repl-diskless-sync-delay", "0"));
        ask(jedis -> jedis.replicaof("127.0.0.1", primary.peerPort()));
        RedisCluster.awaitUntil(
                () -> ask(jedis -> jedis.info("replication")).contains("master_link_status:up"),
                "the replica does not follow");
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

    // A node of a cluster also listens on the port with this offset.
    private static int port(boolean withBus) {
        return withBus ? Ports.reserveWith(BUS_OFFSET) : Ports.reserve();
    }

    boolean isRunning() {
        return process.isAlive();
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
