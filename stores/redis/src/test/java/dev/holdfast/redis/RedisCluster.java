package dev.holdfast.redis;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.MigrateParams;

/**
 * A real cluster for a test: some primaries with a replica each, on free ports of the loopback address or at the places
 * of a {@link ClusterNetwork}.
 */
public final class RedisCluster implements AutoCloseable {

    private static final int SLOTS = 16_384;
    private static final String NODE_TIMEOUT = "--cluster-node-timeout";
    /** Longer than a busy machine lets a node wait, or its replica would be promoted in the midst of a test. */
    private static final String CALM_MILLIS = "5000";

    /** The same where primaries are to be replaced. */
    private static final String SOON_MILLIS = "1000";

    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final int primaries;
    private final List<RedisServer> servers = new ArrayList<>();

    /** Starts the server of a place. */
    private interface Starter {
        RedisServer start(int place, String... settings);
    }

    private RedisCluster(int primaries) {
        this.primaries = primaries;
    }

    /** Starts one of three primaries, with further settings for each node. */
    public static RedisCluster start(String... settings) {
        return start(3, (place, all) -> RedisServer.start(all), settings);
    }

    /** Starts one in a network, with replicas that soon replace a primary. */
    static RedisCluster startIn(ClusterNetwork network) {
        return start(
                network.size() / 2,
                (place, all) -> RedisServer.startIn(network, place, false, all),
                NODE_TIMEOUT,
                SOON_MILLIS);
    }

    /** Starts one of two primaries, which run Redis 6.2.7 like their replicas. */
    static RedisCluster startOld() {
        return start(2, (place, all) -> RedisServer.startOld(all));
    }

    private static RedisCluster start(int primaries, Starter starter, String... settings) {
        RedisCluster cluster = new RedisCluster(primaries);
        boolean ready = false;
        try {
            cluster.startServers(starter, List.of(settings));
            cluster.assignSlots();
            cluster.awaitReady();
            ready = true;
            return cluster;
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        } finally {
            if (!ready) {
                cluster.close();
            }
        }
    }

    private void startServers(Starter starter, List<String> settings) throws InterruptedException {
        List<String> all = new ArrayList<>(List.of("--cluster-enabled", "yes", NODE_TIMEOUT, CALM_MILLIS));
        all.addAll(settings);
        AtomicReferenceArray<RedisServer> places = new AtomicReferenceArray<>(2 * primaries);
        CountDownLatch started = new CountDownLatch(places.length());
        for (int i = 0; i < places.length(); i++) {
            int place = i;
            new Thread(() -> {
                        try {
                            places.set(place, starter.start(place, all.toArray(new String[0])));
                        } finally {
                            started.countDown();
                        }
                    })
                    .start();
        }
        started.await();
        IntStream.range(0, places.length())
                .mapToObj(places::get)
                .filter(Objects::nonNull)
                .forEach(servers::add);
        if (servers.size() < places.length()) {
            throw new AssertionError("Not all nodes of the cluster have started");
        }
    }

    private void assignSlots() {
        for (int i = 0; i < servers.size(); i++) {
            try (Jedis jedis = servers.get(i).connect()) {
                // Different epochs save the nodes a minute of resolving conflicts over equal epochs.
                jedis.sendCommand(Protocol.Command.CLUSTER, "SET-CONFIG-EPOCH", Integer.toString(i + 1));
                if (i < primaries) {
                    // Not as a range, which Redis 6.2 does not know.
                    jedis.clusterAddSlots(IntStream.range(i * SLOTS / primaries, (i + 1) * SLOTS / primaries)
                            .toArray());
                }
                if (i > 0) {
                    jedis.clusterMeet(servers.get(0).host(), servers.get(0).peerPort());
                }
            }
        }
        for (int i = primaries; i < servers.size(); i++) {
            try (Jedis jedis = servers.get(i).connect();
                    Jedis primary = servers.get(i - primaries).connect()) {
                String id = primary.clusterMyId();
                awaitUntil(() -> jedis.clusterNodes().contains(id), "the nodes have not met");
                jedis.clusterReplicate(id);
            }
        }
    }

    /** Waits until all nodes agree that all slots are served, and every replica follows its primary. */
    void awaitReady() {
        awaitUntil(() -> servers.stream().allMatch(this::isReady), "the cluster is not ready");
    }

    private boolean isReady(RedisServer server) {
        if (!server.isRunning()) {
            return true;
        }
        try (Jedis jedis = server.connect()) {
            String replication = jedis.info("replication");
            boolean linked = replication.contains("role:master") || replication.contains("master_link_status:up");
            return linked
                    && jedis.clusterInfo().contains("cluster_state:ok")
                    && jedis.clusterNodes().lines().count() == servers.size()
                    && jedis.clusterNodes()
                                    .lines()
                                    .filter(line -> line.contains("slave"))
                                    .count()
                            >= servers.size()
                                    - primaries
                                    - servers.stream()
                                            .filter(one -> !one.isRunning())
                                            .count();
        } catch (JedisException notYet) {
            return false;
        }
    }

    static void awaitUntil(BooleanSupplier condition, String otherwise) {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError(otherwise);
            }
            StoreTest.pause(20);
        }
    }

    /** The URL, which names all nodes that run. */
    public String url() {
        return "redis://"
                + servers.stream()
                        .filter(RedisServer::isRunning)
                        .map(server -> server.host() + ":" + server.port())
                        .collect(Collectors.joining(","));
    }

    /** The URL for TLS, which names all nodes, with this password. */
    String tlsUrl(String password) {
        return "rediss://:" + password + "@"
                + servers.stream()
                        .map(server -> "127.0.0.1:" + server.tlsPort())
                        .collect(Collectors.joining(","));
    }

    List<RedisServer> servers() {
        return servers;
    }

    /** Whether some primary that runs serves the slot of a key. */
    boolean isServed(String key) {
        int slot = HashSlot.of(key.getBytes(StandardCharsets.UTF_8));
        return servers.stream().anyMatch(server -> server.isRunning() && serves(server, slot));
    }

    /** The primary that serves the slot of a key. */
    RedisServer primaryOf(String key) {
        int slot = HashSlot.of(key.getBytes(StandardCharsets.UTF_8));
        for (RedisServer server : servers) {
            if (server.isRunning() && serves(server, slot)) {
                return server;
            }
        }
        throw new AssertionError("No node serves slot " + slot);
    }

    /**
     * Gives a slot without keys to another primary.
     *
     * @param halfway is run while the former primary still has the slot, and sends each request to the other one
     */
    void moveEmptySlot(int slot, Runnable halfway) {
        List<RedisServer> ends = ownerAndAnother(slot);
        beginToMove(slot, ends.get(0), ends.get(1));
        halfway.run();
        endMove(slot, ends.get(0), ends.get(1));
    }

    /** From now on the keys of a slot can be migrated. The former primary still has the slot. */
    static void beginToMove(int slot, RedisServer from, RedisServer to) {
        String source = from.ask(Jedis::clusterMyId);
        String target = to.ask(Jedis::clusterMyId);
        to.ask(jedis -> jedis.clusterSetSlotImporting(slot, source));
        from.ask(jedis -> jedis.clusterSetSlotMigrating(slot, target));
    }

    /** Gives a slot with its keys to another primary, while clients use them. */
    static void moveSlot(int slot, RedisServer from, RedisServer to) {
        beginToMove(slot, from, to);
        migrateKeys(slot, from, to);
        endMove(slot, from, to);
    }

    /** Migrates the keys of a slot whose move has begun. */
    static void migrateKeys(int slot, RedisServer from, RedisServer to) {
        from.ask(jedis -> {
            for (String key : jedis.clusterGetKeysInSlot(slot, 100)) {
                jedis.migrate("127.0.0.1", to.port(), 5_000, new MigrateParams(), key);
            }
            return null;
        });
    }

    /** Gives the slot to the other primary. All of its keys must be there. */
    static void endMove(int slot, RedisServer from, RedisServer to) {
        String target = to.ask(Jedis::clusterMyId);
        to.ask(jedis -> jedis.clusterSetSlotNode(slot, target));
        from.ask(jedis -> jedis.clusterSetSlotNode(slot, target));
    }

    /** Promotes the replica of the primary that serves a slot, without a loss of data. Returns the new primary. */
    RedisServer failOver(int slot) {
        RedisServer former = ownerAndAnother(slot).get(0);
        awaitUntil(() -> servers.stream().allMatch(server -> knowsOwner(server, slot, former)), "no agreement");
        RedisServer promoted = replicaOf(former);
        AtomicInteger polls = new AtomicInteger();
        awaitUntil(
                () -> {
                    // Redis 6.2 may write after it has paused its clients. Then the replica waits for nothing,
                    // until it is asked again.
                    if (polls.getAndIncrement() % 25 == 0
                            && promoted.ask(jedis -> jedis.info("replication")).contains("role:slave")) {
                        promoted.ask(Jedis::clusterFailover);
                    }
                    return servers.stream().allMatch(server -> knowsOwner(server, slot, promoted));
                },
                "no fail-over");
        awaitReady();
        return promoted;
    }

    /** Lets two primaries name each other as the one that serves a slot without keys. */
    void disagreeOn(int slot) {
        List<RedisServer> both = ownerAndAnother(slot);
        List<String> ids =
                both.stream().map(server -> server.ask(Jedis::clusterMyId)).toList();
        both.get(0).ask(jedis -> jedis.clusterSetSlotNode(slot, ids.get(1)));
        both.get(1).ask(jedis -> jedis.clusterSetSlotNode(slot, ids.get(0)));
    }

    /** The primary that serves a slot, and then the others. */
    List<RedisServer> ownerAndAnother(int slot) {
        return servers.stream()
                .filter(server -> server.ask(jedis -> jedis.info("replication")).contains("role:master"))
                .sorted(Comparator.comparing(server -> !serves(server, slot)))
                .toList();
    }

    /** Lets a primary end the subscriptions to the channels of a slot, which it keeps. */
    static void endSubscriptions(RedisServer primary, int slot) {
        primary.ask(jedis -> {
            // In one step, because other nodes would be asked in between.
            try (Transaction step = jedis.multi()) {
                step.sendCommand(Protocol.Command.CLUSTER, "DELSLOTS", Integer.toString(slot));
                step.sendCommand(Protocol.Command.CLUSTER, "ADDSLOTS", Integer.toString(slot));
                return step.exec();
            }
        });
    }

    /** A replica of a primary. */
    RedisServer replicaOf(RedisServer primary) {
        String line = "master_port:" + primary.peerPort();
        return servers.stream()
                .filter(server -> server.ask(jedis -> jedis.info("replication")).contains(line))
                .findFirst()
                .orElseThrow();
    }

    private static boolean serves(RedisServer server, int slot) {
        return knowsOwner(server, slot, server);
    }

    /** Whether a node says that a primary serves a slot. */
    private static boolean knowsOwner(RedisServer asked, int slot, RedisServer owner) {
        return asked.ask(Jedis::clusterNodes)
                .lines()
                .map(line -> line.split(" "))
                .filter(node -> node[1].contains(":" + owner.peerPort() + "@"))
                .flatMap(node -> Arrays.stream(node).skip(8))
                .filter(range -> range.matches("\\d+(-\\d+)?"))
                .anyMatch(range -> {
                    String[] ends = range.split("-");
                    return slot >= Integer.parseInt(ends[0]) && slot <= Integer.parseInt(ends[ends.length - 1]);
                });
    }

    @Override
    public void close() {
        servers.forEach(RedisServer::close);
    }
}
