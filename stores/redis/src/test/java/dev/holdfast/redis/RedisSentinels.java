package dev.holdfast.redis;

import static redis.clients.jedis.Protocol.Command.SENTINEL;

import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.ClientKillParams;

/**
 * A real primary with two replicas, and three Sentinels that watch them, on free ports of the loopback address or,
 * each server with a Sentinel, at the places of a {@link ClusterNetwork}.
 */
public final class RedisSentinels implements AutoCloseable {

    public static final String NAME = "locks";

    /** A server that does not answer for so long counts as down: longer than a busy machine lets it wait. */
    private static final Duration CALM = Duration.ofSeconds(30);

    /** The same while a server is to be replaced. */
    private static final Duration SOON = Duration.ofSeconds(1);

    /** What a primary says of all that it has written, and of what a replica has acknowledged of it. */
    private static final Pattern WRITTEN = Pattern.compile("master_repl_offset:(\\d+)");

    private static final Pattern ACKNOWLEDGED = Pattern.compile(",offset=(\\d+)");

    private static final int REPLICAS = 2;
    private static final int SENTINELS = 3;

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<RedisServer> sentinels = new ArrayList<>();

    private final @Nullable ClusterNetwork network;
    private final List<String> settings;
    private final String password;
    private final String sentinelPassword;

    private RedisSentinels(
            @Nullable ClusterNetwork network, List<String> settings, String password, String sentinelPassword) {
        this.network = network;
        this.settings = settings;
        this.password = password;
        this.sentinelPassword = sentinelPassword;
    }

    /** Starts the servers. */
    public static RedisSentinels start() {
        return start(List.of(), "", "");
    }

    /** Starts the servers with further settings for all, and with passwords, if they are not empty. */
    static RedisSentinels start(List<String> settings, String password, String sentinelPassword) {
        return started(new RedisSentinels(null, settings, password, sentinelPassword));
    }

    /** Starts the servers in a network, with Sentinels that soon replace a primary. */
    static RedisSentinels startIn(ClusterNetwork network) {
        RedisSentinels all = started(new RedisSentinels(network, List.of(), "", ""));
        all.countAsDownAfter(SOON);
        return all;
    }

    private static RedisSentinels started(RedisSentinels all) {
        boolean ready = false;
        try {
            all.startServers();
            all.startSentinels();
            ready = true;
            return all;
        } finally {
            if (!ready) {
                all.close();
            }
        }
    }

    private void startServers() {
        RedisServer primary = startServer();
        servers.add(primary);
        for (int i = 0; i < REPLICAS; i++) {
            servers.add(startServer("--replicaof", primary.host(), Integer.toString(primary.peerPort())));
        }
        awaitReplicas();
    }

    private RedisServer startServer(String... further) {
        List<String> all = new ArrayList<>(settings);
        all.addAll(List.of("--repl-diskless-sync-delay", "0"));
        if (!password.isEmpty()) {
            all.addAll(List.of("--requirepass", password, "--masterauth", password));
        }
        all.addAll(List.of(further));
        return start(servers.size(), false, all);
    }

    private RedisServer startSentinel() {
        List<String> all = new ArrayList<>(settings);
        if (!sentinelPassword.isEmpty()) {
            all.addAll(List.of("--requirepass", sentinelPassword));
        }
        return start(sentinels.size(), true, all);
    }

    private RedisServer start(int place, boolean sentinel, List<String> all) {
        String[] further = all.toArray(new String[0]);
        if (network != null) {
            return RedisServer.startIn(network, place, sentinel, further);
        }
        return sentinel ? RedisServer.startSentinel(further) : RedisServer.start(further);
    }

    private void startSentinels() {
        for (int i = 0; i < SENTINELS; i++) {
            RedisServer sentinel = startSentinel();
            sentinels.add(sentinel);
            monitor(sentinel, servers.get(0));
        }
        awaitSentinels();
    }

    private void monitor(RedisServer sentinel, RedisServer primary) {
        try (Jedis jedis = sentinel.connect()) {
            sentinel(jedis, "MONITOR", NAME, primary.host(), Integer.toString(primary.peerPort()), "2");
            if (!password.isEmpty()) {
                sentinel(jedis, "SET", NAME, "auth-pass", password);
            }
            sentinel(jedis, "SET", NAME, "down-after-milliseconds", Long.toString(CALM.toMillis()));
            sentinel(jedis, "SET", NAME, "failover-timeout", "2000");
            sentinel(jedis, "SET", NAME, "parallel-syncs", "2");
        }
    }

    /** Makes another server the primary, and lets all Sentinels forget the past and watch it, as an operator may do. */
    void setUpAnew(RedisServer primary) {
        sentinels.forEach(sentinel -> sentinel.ask(jedis -> jedis.sendCommand(SENTINEL, "REMOVE", NAME)));
        primary.ask(Jedis::replicaofNoOne);
        servers.stream().filter(server -> server != primary).forEach(server -> {
            server.ask(jedis -> jedis.replicaof(primary.host(), primary.peerPort()));
        });
        awaitReplicas();
        sentinels.forEach(sentinel -> monitor(sentinel, primary));
        awaitSentinels();
    }

    private static void sentinel(Jedis jedis, String... arguments) {
        jedis.sendCommand(SENTINEL, arguments);
    }

    /** Waits until all running replicas are connected to the primary and follow it. */
    void awaitReplicas() {
        RedisCluster.awaitUntil(
                () -> {
                    long running =
                            servers.stream().filter(RedisServer::isRunning).count();
                    try (Jedis jedis = primary().connect()) {
                        return jedis.info("replication").split("state=online", -1).length == running;
                    } catch (JedisException | IllegalStateException notYet) {
                        return false;
                    }
                },
                "the replicas do not follow");
    }

    /**
     * Waits until the running replicas have all data that the primary has now, so that a fail-over does not lose any. What
     * clients write meanwhile is not waited for: replicas acknowledge once in a second, each at a moment of its own, so that
     * two may never be level with a primary that is written to.
     */
    public void awaitCopies() {
        RedisServer primary = named();
        long replicas = servers.stream().filter(RedisServer::isRunning).count() - 1;
        long written = offset(primary.ask(jedis -> jedis.info("replication")), WRITTEN);
        RedisCluster.awaitUntil(
                () -> primary.ask(jedis -> jedis.info("replication"))
                                .lines()
                                .filter(line -> line.contains("state=online") && offset(line, ACKNOWLEDGED) >= written)
                                .count()
                        == replicas,
                "the replicas lag behind");
    }

    private static long offset(String text, Pattern which) {
        Matcher found = which.matcher(text);
        if (!found.find()) {
            throw new AssertionError("No " + which + " in " + text);
        }
        return Long.parseLong(found.group(1));
    }

    /** From now on the replicas receive nothing, because the primary asks for a password that they do not have. */
    public void cutOffReplicas() {
        named().ask(jedis -> {
            jedis.configSet("requirepass", "unknown");
            jedis.auth("unknown");
            return jedis.clientKill(new ClientKillParams().type(ClientType.REPLICA));
        });
    }

    /** Waits until each Sentinel knows the replicas and the others. */
    private void awaitSentinels() {
        for (RedisServer sentinel : sentinels) {
            try (Jedis jedis = sentinel.connect()) {
                RedisCluster.awaitUntil(
                        () -> jedis.sentinelMaster(NAME).get("num-slaves").equals(Integer.toString(REPLICAS))
                                && jedis.sentinelMaster(NAME)
                                        .get("num-other-sentinels")
                                        .equals(Integer.toString(SENTINELS - 1)),
                        "the Sentinels do not know each other");
            }
        }
    }

    /** The server that reports the role of the primary. */
    RedisServer primary() {
        for (RedisServer server : servers) {
            if (server.isRunning()) {
                try (Jedis jedis = server.connectBriefly()) {
                    if (jedis.info("replication").contains("role:master")) {
                        return server;
                    }
                } catch (JedisException notNow) {
                    continue;
                }
            }
        }
        throw new IllegalStateException("There is no primary just now");
    }

    /** The server that the Sentinels name. */
    public RedisServer named() {
        try (Jedis jedis = sentinels.get(0).connect()) {
            int port = Integer.parseInt(jedis.sentinelGetMasterAddrByName(NAME).get(1));
            return servers.stream()
                    .filter(server -> server.peerPort() == port)
                    .findFirst()
                    .orElseThrow();
        }
    }

    /**
     * Lets the primary fail, and waits until it is replaced.
     *
     * @param fault what happens to it
     * @return the former primary
     */
    public RedisServer failOver(Consumer<RedisServer> fault) {
        RedisServer old = named();
        countAsDownAfter(SOON);
        fault.accept(old);
        awaitSuccessor(old);
        countAsDownAfter(CALM);
        return old;
    }

    private void countAsDownAfter(Duration time) {
        for (RedisServer sentinel : sentinels) {
            try (Jedis jedis = sentinel.connectBriefly()) {
                sentinel(jedis, "SET", NAME, "down-after-milliseconds", Long.toString(time.toMillis()));
            } catch (JedisException frozen) {
                // The others are enough.
            }
        }
    }

    /** Waits until the Sentinels name another primary than this, and that server reports the role itself. */
    private void awaitSuccessor(RedisServer old) {
        RedisCluster.awaitUntil(
                () -> {
                    try {
                        RedisServer named = named();
                        return named != old
                                && named.ask(jedis -> jedis.info("replication")).contains("role:master");
                    } catch (JedisException notNow) {
                        return false;
                    }
                },
                "the Sentinels name no other primary");
    }

    /** Starts what was killed, and waits until all follow the primary that the Sentinels name. */
    void heal() {
        servers.forEach(server -> server.signal("CONT"));
        servers.stream().filter(server -> !server.isRunning()).forEach(server -> {
            // It must not follow its former primary, because the Sentinels would need long to correct that.
            server.startAgain("--replicaof", named().host(), Integer.toString(named().peerPort()));
        });
        awaitCalm();
        awaitCopies();
        awaitSentinels();
    }

    /** Waits until all Sentinels agree on the primary, and all replicas follow it. */
    void awaitCalm() {
        RedisCluster.awaitUntil(this::isCalm, "the Sentinels do not agree on the primary and on who is well");
        awaitReplicas();
    }

    // All Sentinels must agree: a client may ask any of them, and one that still considers a server down may begin
    // a fail-over.
    private boolean isCalm() {
        try {
            String primary = Integer.toString(primary().peerPort());
            return sentinels.stream()
                    .allMatch(sentinel -> sentinel.ask(
                            jedis -> jedis.sentinelMaster(NAME).get("port").equals(primary)
                                    && jedis.sentinelMaster(NAME).get("flags").equals("master")
                                    && jedis.sentinelReplicas(NAME).stream()
                                            .allMatch(replica ->
                                                    replica.get("flags").equals("slave"))));
        } catch (JedisException | IllegalStateException notYet) {
            return false;
        }
    }

    List<RedisServer> servers() {
        return servers;
    }

    public List<RedisServer> sentinels() {
        return sentinels;
    }

    List<RedisServer> replicas() {
        RedisServer primary = primary();
        return servers.stream()
                .filter(server -> server != primary && server.isRunning())
                .toList();
    }

    /** The URL, with all Sentinels. */
    public String url() {
        return "redis-sentinel://"
                + sentinels.stream()
                        .map(sentinel -> sentinel.host() + ":" + sentinel.port())
                        .collect(Collectors.joining(","))
                + "/" + NAME;
    }

    /** The URL for TLS, with all Sentinels, and with these passwords. */
    String tlsUrl(String serverPassword, String passwordOfSentinels) {
        return "rediss-sentinel://:" + serverPassword + "@"
                + sentinels.stream()
                        .map(sentinel -> "127.0.0.1:" + sentinel.tlsPort())
                        .collect(Collectors.joining(","))
                + "/" + NAME + "?sentinelPassword=" + passwordOfSentinels;
    }

    @Override
    public void close() {
        sentinels.forEach(RedisServer::close);
        servers.forEach(RedisServer::close);
    }
}
