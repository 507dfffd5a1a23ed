package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A real server for a test: on a free port of the loopback address, with its data in a folder of its own. */
final class LocalRedis implements AutoCloseable {

    private static final Path INSTALLED = Path.of("/usr/bin/redis-server");
    private static final String OLD = "/redis-server-6.2.7-linux-";
    private static final int TRIES = 2_000;
    private static final int BUS_OFFSET = 10_000;
    private static final int CLUSTER_NODES = 3;
    private static final int SLOTS = 16_384;

    private final Path program;
    private final Path folder;
    private final int port;
    private final int tlsPort;
    private final List<String> settings;
    private final RedisClient client = RedisClient.create();
    private Process process;

    private LocalRedis(Path program, Path folder, List<String> settings) throws IOException {
        this.program = program;
        this.folder = folder;
        this.port = freePort();
        this.tlsPort = settings.contains("--tls-cert-file") ? freePort() : 0;
        this.settings = settings;
    }

    static LocalRedis start(String... settings) {
        return start(installed(), newFolder(), List.of(settings));
    }

    /** Starts a Redis 6.2.7, from {@code org.signal:embedded-redis}: only its program is used. */
    static LocalRedis startOld(String... settings) {
        Path folder = newFolder();
        Path program = folder.resolve("redis-server");
        String name = OLD + (System.getProperty("os.arch").equals("aarch64") ? "arm64" : "amd64");
        try (InputStream jar = Objects.requireNonNull(LocalRedis.class.getResourceAsStream(name), name)) {
            Files.copy(jar, program);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        assertThat(program.toFile().setExecutable(true)).isTrue();
        return start(program, folder, List.of(settings));
    }

    /** Starts a Sentinel that watches a server by the name {@code locks}, together with another one. */
    static LocalRedis startSentinel(LocalRedis primary, Duration downAfter) {
        Path folder = newFolder();
        Path file = folder.resolve("sentinel.conf");
        try {
            Files.write(
                    file,
                    List.of(
                            "sentinel monitor locks 127.0.0.1 " + primary.port() + " 2",
                            "sentinel down-after-milliseconds locks " + downAfter.toMillis(),
                            "sentinel failover-timeout locks 2000"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return start(installed(), folder, List.of(file.toString(), "--sentinel"));
    }

    private static Path installed() {
        if (!Files.isExecutable(INSTALLED)) {
            throw new AssertionError("These tests need a Redis server: apt-get install redis-server");
        }
        return INSTALLED;
    }

    private static Path newFolder() {
        try {
            return Files.createTempDirectory("holdfast-lettuce");
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static LocalRedis start(Path program, Path folder, List<String> settings) {
        try {
            LocalRedis server = new LocalRedis(program, folder, settings);
            server.startAgain();
            return server;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Starts a cluster of three primaries, and waits until all slots are served. */
    static void startCluster(List<LocalRedis> nodes) throws InterruptedException {
        for (int i = 0; i < CLUSTER_NODES; i++) {
            LocalRedis node = start("--cluster-enabled", "yes", "--cluster-node-timeout", "2000");
            nodes.add(node);
            int number = i;
            node.ask(redis -> {
                redis.clusterSetConfigEpoch(number + 1);
                redis.clusterAddSlots(
                        IntStream.range(number * SLOTS / CLUSTER_NODES, (number + 1) * SLOTS / CLUSTER_NODES)
                                .toArray());
                return number == 0
                        ? ""
                        : redis.clusterMeet("127.0.0.1", nodes.get(0).port());
            });
        }
        for (LocalRedis node : nodes) {
            for (int i = 0; !node.ask(redis -> isReady(redis)); i++) {
                if (i > TRIES) {
                    throw new AssertionError("The cluster is not ready");
                }
                Thread.sleep(10);
            }
        }
    }

    private static boolean isReady(RedisCommands<String, String> redis) {
        return redis.clusterInfo().contains("cluster_state:ok")
                && redis.clusterNodes().lines().count() == CLUSTER_NODES;
    }

    void startAgain() {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(settings);
        command.addAll(List.of("--bind", "127.0.0.1", "--port", Integer.toString(port), "--dir", folder.toString()));
        if (!settings.contains("--sentinel")) {
            command.addAll(List.of("--save", ""));
        }
        if (tlsPort > 0) {
            command.addAll(List.of("--tls-port", Integer.toString(tlsPort)));
        }
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

    private boolean answers() {
        try {
            return ask(RedisCommands::ping).equals("PONG");
        } catch (RedisException notYet) {
            return false;
        }
    }

    RedisURI uri() {
        return RedisURI.create("127.0.0.1", port);
    }

    int port() {
        return port;
    }

    int tlsPort() {
        return tlsPort;
    }

    boolean isRunning() {
        return process.isAlive();
    }

    String url() {
        return "redis+lettuce://127.0.0.1:" + port;
    }

    /** Asks on a connection of the test's own. */
    <T> T ask(Function<RedisCommands<String, String>, T> question) {
        try (StatefulRedisConnection<String, String> connection = client.connect(uri())) {
            return question.apply(connection.sync());
        }
    }

    void kill() {
        try {
            process.destroyForcibly().waitFor();
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
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

    // With room for the second port, 10,000 further on, that a node of a cluster has.
    private static int freePort() throws IOException {
        while (true) {
            int high;
            try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                high = socket.getLocalPort();
            }
            int low = high - BUS_OFFSET;
            if (low > 1024) {
                try (ServerSocket socket = new ServerSocket(low, 1, InetAddress.getLoopbackAddress())) {
                    return socket.getLocalPort();
                } catch (IOException taken) {
                    continue;
                }
            }
        }
    }

    @Override
    public void close() {
        kill();
        client.shutdown();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
