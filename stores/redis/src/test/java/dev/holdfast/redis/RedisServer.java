package dev.holdfast.redis;

import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.Ports;
import dev.holdfast.testkit.process.ServerClock;
import dev.holdfast.testkit.process.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/** A real server for a test: on a free port of the loopback address, with its data in a folder of its own. */
public final class RedisServer implements ControlledServer, AutoCloseable {

    private static final Path INSTALLED = Path.of("/usr/bin/redis-server");
    private static final int BUS_OFFSET = 10_000;
    /** A busy machine may let a server wait, and then the test does, too. */
    private static final int PATIENCE_MILLIS = 60_000;

    private static final int BRIEFLY_MILLIS = 2_000;

    private final ServerProcess process;
    private final String host;
    private final Path program;
    private final int port;
    private final int tlsPort;
    private final boolean sentinel;
    private final List<String> settings;
    private @Nullable ServerClock clock;

    private RedisServer(Path program, boolean sentinel, List<String> settings) {
        this(new ServerProcess("redis"), program, sentinel, settings);
    }

    private RedisServer(ServerProcess process, Path program, boolean sentinel, List<String> settings) {
        this(process, "127.0.0.1", program, sentinel, settings);
    }

    private RedisServer(ServerProcess process, String host, Path program, boolean sentinel, List<String> settings) {
        this.process = process;
        this.host = host;
        // A node of a cluster also listens on the port with this offset.
        boolean withBus = settings.contains("--cluster-enabled");
        this.program = program;
        this.port = withBus ? Ports.reserveWith(BUS_OFFSET) : process.port();
        this.tlsPort = settings.contains("--tls-cert-file") ? Ports.reserveWith(withBus ? BUS_OFFSET : 0) : 0;
        this.sentinel = sentinel;
        this.settings = settings;
    }

    /** Starts a server with further settings, such as {@code --appendonly yes}. */
    public static RedisServer start(String... settings) {
        return start(installed(), false, settings);
    }

    /** Starts a server with its data in a folder below this one. */
    static RedisServer startBelow(Path parent, String... settings) {
        ServerProcess process = new ServerProcess("redis", "", parent);
        RedisServer server = new RedisServer(process, installed(), false, List.of(settings));
        server.startAgain();
        return server;
    }

    /** Starts a server whose clock a test can set. */
    static RedisServer startWithClock() {
        ServerProcess process = new ServerProcess("redis");
        ServerClock clock = ServerClock.of(process);
        RedisServer server = new RedisServer(process, installed(), false, List.of());
        server.clock = clock;
        return start(server);
    }

    /** The clock of a server that was started with one. */
    ServerClock clock() {
        return Objects.requireNonNull(clock);
    }

    /** Starts a Redis 6.2.7, whose program a jar from Maven Central brings along. */
    public static RedisServer startOld(String... settings) {
        return start(OldRedis.program(), false, settings);
    }

    /** Starts a Sentinel that watches nothing yet. */
    static RedisServer startSentinel(String... settings) {
        return start(installed(), true, settings);
    }

    /** Starts a server, or a Sentinel that watches nothing yet, at a place in a network. */
    static RedisServer startIn(ClusterNetwork network, int place, boolean sentinel, String... settings) {
        ServerProcess process = new ServerProcess("redis");
        process.startIn(network.prefix(place));
        return start(new RedisServer(process, network.host(place), installed(), sentinel, List.of(settings)));
    }

    /** Starts a Sentinel with these lines in its file of settings, which may also say what happened before. */
    static RedisServer startSentinelWith(String... lines) {
        RedisServer server = new RedisServer(installed(), true, List.of());
        server.writeSettings(lines);
        server.startAgain();
        return server;
    }

    private static Path installed() {
        ServerProcess.require(INSTALLED, "redis-server");
        return INSTALLED;
    }

    private static RedisServer start(Path program, boolean sentinel, String... settings) {
        return start(new RedisServer(program, sentinel, List.of(settings)));
    }

    private static RedisServer start(RedisServer server) {
        if (server.sentinel) {
            server.writeSettings();
        }
        server.startAgain();
        return server;
    }

    private Path sentinelFile() {
        return process.folder().resolve("sentinel.conf");
    }

    private void writeSettings(String... lines) {
        try {
            Files.write(sentinelFile(), List.of(lines));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Override
    public void startAgain() {
        startAgain(new String[0]);
    }

    /** Starts it after {@link #stop} or {@link #kill}, on the same port and data; with further settings. */
    public void startAgain(String... further) {
        startAgainUnready(further);
        awaitReady();
    }

    /** Like {@link #startAgain}, but does not wait until the server answers. */
    void startAgainUnready(String... further) {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        if (sentinel) {
            command.addAll(List.of(sentinelFile().toString(), "--sentinel"));
        } else {
            command.addAll(List.of("--dir", process.folder().toString(), "--save", ""));
        }
        // Whoever reaches it in its network may use it.
        command.addAll(List.of("--bind", host, "--port", Integer.toString(port), "--protected-mode", "no"));
        if (tlsPort > 0) {
            command.addAll(List.of("--tls-port", Integer.toString(tlsPort)));
        }
        command.addAll(settings);
        command.addAll(List.of(further));
        process.start(command);
    }

    /** Waits until the server answers, and has read its data. */
    void awaitReady() {
        process.awaitReady(this::answers);
    }

    // An error is also an answer: a server with a password asks for it.
    private boolean answers() {
        try (Jedis jedis = new Jedis(host, port)) {
            jedis.ping();
            return true;
        } catch (redis.clients.jedis.exceptions.JedisDataException error) {
            return !String.valueOf(error.getMessage()).startsWith("LOADING");
        } catch (redis.clients.jedis.exceptions.JedisException notYet) {
            return false;
        }
    }

    @Override
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

    /** The address at which it is found. */
    String host() {
        return host;
    }

    public String url() {
        return "redis://" + host + ":" + port;
    }

    /** A separate connection for the test, without TLS. */
    Jedis connect() {
        return connect(PATIENCE_MILLIS);
    }

    /** The same to a server that may be frozen: then it fails after a moment. */
    Jedis connectBriefly() {
        return connect(BRIEFLY_MILLIS);
    }

    private Jedis connect(int timeoutMillis) {
        Jedis jedis = new Jedis(host, port, timeoutMillis);
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
        process.signal("TERM");
        process.awaitEnd(List.of());
    }

    @Override
    public void kill() {
        if (process.isAlive()) {
            process.kill();
        }
    }

    /** Sends a signal: STOP freezes the process, CONT resumes it. */
    public void signal(String name) {
        process.signal(name);
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
    public void close() {
        kill();
        process.removeFolder();
    }
}
