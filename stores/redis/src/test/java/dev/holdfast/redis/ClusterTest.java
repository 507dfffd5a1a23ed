package dev.holdfast.redis;

import static dev.holdfast.testkit.StoreTest.awaitGrant;
import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static dev.holdfast.testkit.StoreTest.get;
import static dev.holdfast.testkit.StoreTest.granted;
import static dev.holdfast.testkit.StoreTest.renewed;
import static dev.holdfast.testkit.StoreTest.repaired;
import static dev.holdfast.testkit.StoreTest.waiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisClusterPort;
import dev.holdfast.redis.jedis.OwnConnections;
import dev.holdfast.redis.record.LockKeys;
import dev.holdfast.redis.record.WaiterChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.args.ClusterResetType;
import redis.clients.jedis.params.MigrateParams;

/** Nodes that fail, slots that move, and channels that follow them. */
class ClusterTest {

    private static final Duration LONG = Duration.ofMinutes(10);

    @AutoClose
    private static RedisCluster cluster = RedisCluster.start();

    private final Claimant alice = new Claimant("alice", LONG);
    private final Claimant bob = new Claimant("bob", LONG);
    private final LockName name = new LockName("test-" + UUID.randomUUID());
    private final String key = "holdfast:{" + name + "}";
    private final int slot = HashSlot.of(key.getBytes(StandardCharsets.UTF_8));
    private final List<AutoCloseable> opened = new ArrayList<>();

    @BeforeEach
    void allNodesRun() {
        for (RedisServer server : cluster.servers()) {
            server.signal("CONT");
            if (!server.isRunning()) {
                server.startAgain();
            }
        }
        cluster.awaitReady();
    }

    @AfterEach
    void end() throws Exception {
        for (AutoCloseable one : opened) {
            one.close();
        }
    }

    @Test
    void heldLockSurvivesTheLossOfItsPrimaryAndItsWaiterGetsOn() throws Exception {
        Holdfast holder = connect("?ticketTtl=2s&replicas=1");
        Holdfast other = connect("?ticketTtl=2s");
        LockOptions options =
                LockOptions.defaults().withLease(Duration.ofSeconds(40)).withStoreTimeout(Duration.ofSeconds(60));
        Lease lease = holder.lock(name.value(), options).acquire();
        CompletableFuture<Lease> next = other.lock(name.value(), options).acquireAsync();
        awaitUntil(() -> !holder.state(name.value()).orElseThrow().waiters().isEmpty());
        RedisServer old = cluster.primaryOf(key);
        old.kill();
        // If it were started again at once, it would still be the primary, but without its data.
        awaitUntil(() -> cluster.isServed(key));
        allNodesRun();
        Duration before = lease.remaining();
        awaitUntil(() -> lease.remaining().compareTo(before) > 0);
        assertThat(lease.isValid()).isTrue();
        lease.close();
        Lease nextLease = next.get(20, TimeUnit.SECONDS);
        assertThat(nextLease.token()).isGreaterThan(lease.token());
        nextLease.close();
    }

    @Test
    void frozenNodeConcernsItsOwnLocksOnly() {
        LockStore store = repaired(() -> open("?timeout=500ms"));
        LockStore patient = open("");
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(patient, claims.get(i));
        }
        assertThat(get(patient.renew(claims))).allMatch(Granted.class::isInstance);
        assertThat(get(patient.list(name + "-", 100))).hasSize(60);
        RedisServer frozen = cluster.primaryOf("holdfast:{" + claims.get(0).name() + "}");
        Set<LockName> there = claims.stream()
                .map(Claim::name)
                .filter(one -> cluster.primaryOf("holdfast:{" + one + "}") == frozen)
                .collect(Collectors.toSet());
        assertThat(there).isNotEmpty().hasSizeLessThan(claims.size());
        frozen.signal("STOP");
        // Another node may be too slow once, on a busy machine.
        awaitUntil(() -> {
            List<Renewed> answers = get(store.renew(claims));
            return IntStream.range(0, claims.size())
                    .allMatch(i -> (there.contains(claims.get(i).name()) ? Renewed.Failed.class : Granted.class)
                            .isInstance(answers.get(i)));
        });
        frozen.signal("CONT");
    }

    /** Before, each batch took as long as the frozen node let it wait, and short leases at other nodes ran out. */
    @Test
    void frozenNodeDelaysTheRenewalsOfOthersOnlyOnce() {
        Duration timeout = Duration.ofSeconds(2);
        // No replica is promoted meanwhile.
        try (RedisCluster calm = RedisCluster.start("--cluster-node-timeout", "600000")) {
            LockStore store = repaired(() -> openUrl(calm.url() + "?timeout=2s"));
            RedisServer frozen = calm.primaryOf(key);
            Claim there = alice.mutex(name);
            Claim elsewhere = Stream.iterate(0, i -> i + 1)
                    .map(i -> alice.mutex(new LockName(name + "-" + i)))
                    .filter(claim -> calm.primaryOf("holdfast:{" + claim.name() + "}") != frozen)
                    .findFirst()
                    .orElseThrow();
            List<Claim> both = List.of(there.again(), elsewhere.again());
            both.forEach(claim -> repaired(() -> granted(store, claim)));
            repaired(() -> get(store.renew(both)));
            frozen.signal("STOP");
            awaitUntil(() -> {
                long start = System.nanoTime();
                List<Renewed> answers = get(store.renew(both));
                return System.nanoTime() - start < timeout.toNanos()
                        && answers.get(0) instanceof Renewed.Failed
                        && answers.get(1) instanceof Granted;
            });
            frozen.signal("CONT");
            repaired(() -> get(store.renew(both)));
        }
    }

    @Test
    void lockIsHeldWhileItsSlotMovesAndItsWaiterIsNotifiedOfItsGrant() {
        LockStore store = open("?ticketTtl=1m");
        LockStore other = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener listener = waiting(other, bob.mutex(name));
        RecordingListener last = waiting(other, alice.mutex(name));
        RedisServer from = cluster.primaryOf(key);
        RedisServer to = anotherPrimaryThan(from);
        try (Jedis target = to.connect()) {
            RedisCluster.beginToMove(slot, from, to);
            RedisCluster.migrateKeys(slot, from, to);
            // All keys have moved, but the slot has not, so each request is redirected once.
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
            assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(2);
            RedisCluster.endMove(slot, from, to);
            awaitUntil(() -> target.pubsubShardChannels().size() == 1);
        }
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        get(store.release(holder));
        awaitGrant(listener);
        assertThat(last.outcome()).isEmpty();
    }

    /** The record of each lock is one key, so that it is at one node at any time, and its absence elsewhere is no error. */
    @Test
    void locksWorkWhileTheirSlotIsMoved() {
        LockStore store = open("?ticketTtl=1m");
        List<LockName> names = namesInTheSlotOf(name, 3);
        Claim here = alice.mutex(names.get(0));
        Claim there = alice.mutex(names.get(1));
        Claim late = alice.mutex(names.get(2));
        granted(store, here);
        granted(store, there);
        RedisServer from = cluster.primaryOf(key);
        RedisServer to = anotherPrimaryThan(from);
        try (Jedis source = from.connect()) {
            RedisCluster.beginToMove(slot, from, to);
            source.migrate("127.0.0.1", to.port(), 5_000, new MigrateParams(), "holdfast:{" + there.name() + "}");
            granted(store, late);
            assertThat(get(store.renew(List.of(here, there, late)))).allMatch(Granted.class::isInstance);
            for (Claim holder : List.of(here, there, late)) {
                Claim next = bob.mutex(holder.name());
                RecordingListener listener = waiting(store, next);
                assertThat(get(store.release(holder.again())).wasOwner()).isTrue();
                assertThat(get(store.release(holder.again())).wasOwner()).isFalse();
                assertThat(renewed(store, next)).isInstanceOf(Granted.class);
                awaitGrant(listener);
            }
            RedisCluster.migrateKeys(slot, from, to);
            RedisCluster.endMove(slot, from, to);
        }
    }

    private static List<LockName> namesInTheSlotOf(LockName name, int count) {
        int slot = HashSlot.of(name.value().getBytes(StandardCharsets.UTF_8));
        return Stream.concat(
                        Stream.of(name), IntStream.iterate(0, i -> i + 1).mapToObj(i -> new LockName(name + "-" + i)))
                .filter(one -> HashSlot.of(one.value().getBytes(StandardCharsets.UTF_8)) == slot)
                .limit(count)
                .toList();
    }

    @Test
    void replicasAcknowledge() {
        LockStore store = open("?replicas=1&replicaTimeout=2s");
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        StoreException failure = StoreTest.failure(
                open("?replicas=2&replicaTimeout=1s").tryAcquire(bob.mutex(new LockName(name + "2"))));
        assertThat(failure.effect()).isEqualTo(StoreException.Effect.NONE);
        assertThat(failure).hasMessageContaining("1 of 2 replicas");
    }

    /** It is still known as a replica. It may leave the cluster later, and then nothing would end the connections. */
    @Test
    void nodeThatServesNoSlotAnyMoreIsLeft() {
        LockStore store = open("");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        waiting(store, bob.mutex(name));
        RedisServer old = cluster.primaryOf(key);
        assertThat(clientsOf(old)).isNotEmpty();
        cluster.failOver(slot);
        awaitUntil(() -> repaired(() -> renewed(store, holder)) instanceof Granted
                && clientsOf(old).isEmpty());
    }

    /** Nobody else knows it, but it answers, with a table of slots that is empty. */
    @Test
    void nodeThatWasResetIsNotBelievedAboutTheCluster() {
        try (RedisCluster other = RedisCluster.start()) {
            RedisServer old = other.primaryOf(key);
            LockStore store = openUrl(old.url() + "?cluster=true");
            Claim holder = alice.mutex(name);
            granted(store, holder);
            other.failOver(slot);
            removeFrom(other, old);
            old.ask(jedis -> jedis.clusterReset(ClusterResetType.SOFT));
            assertThat(repaired(() -> renewed(store, holder))).isInstanceOf(Granted.class);
        }
    }

    private static void removeFrom(RedisCluster other, RedisServer old) {
        String left = old.ask(Jedis::clusterMyId);
        other.servers().stream()
                .filter(server -> server != old)
                .forEach(server -> server.ask(jedis -> jedis.clusterForget(left)));
    }

    private static List<String> clientsOf(RedisServer server) {
        return server.ask(Jedis::clientList)
                .lines()
                .filter(client -> client.contains(" name=holdfast "))
                .toList();
    }

    @Test
    void clientOfTheUsersIsUsedAndNotClosed() {
        Set<HostAndPort> nodes = cluster.servers().stream()
                .map(server -> new HostAndPort("127.0.0.1", server.port()))
                .collect(Collectors.toSet());
        try (RedisClusterClient client = RedisClusterClient.create(nodes)) {
            LockStore store = RedisLockStore.over(client, "");
            Claim holder = alice.mutex(name);
            granted(store, holder);
            RecordingListener listener = waiting(store, bob.mutex(name));
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
            get(open("").release(holder));
            awaitGrant(listener);
            store.close();
            assertThat(client.get("anything")).isNull();
            awaitUntil(() -> client.getClusterNodes().values().stream().allMatch(pool -> pool.getNumActive() == 0));
        }
    }

    /** A node that came later is known to the client only when the store makes it ask. */
    @Test
    void clientOfTheUsersLearnsOfNodes() {
        try (RedisServer node = RedisServer.start("--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1")) {
            serveAll(node);
            try (RedisClusterClient client = RedisClusterClient.create(new HostAndPort("127.0.0.1", node.port()))) {
                node.ask(jedis -> jedis.configSet("cluster-announce-hostname", "localhost"));
                node.ask(jedis -> jedis.configSet("cluster-preferred-endpoint-type", "hostname"));
                try (LockStore store = RedisLockStore.over(client, "")) {
                    granted(store, alice.mutex(name));
                    assertThat(client.getClusterNodes()).containsKey("localhost:" + node.port());
                }
            }
        }
    }

    private static void serveAll(RedisServer node) {
        node.ask(jedis ->
                jedis.clusterAddSlots(IntStream.range(0, HashSlot.COUNT).toArray()));
        awaitUntil(() -> node.ask(Jedis::clusterInfo).contains("cluster_state:ok"));
    }

    @Test
    void idleChannelsAreDropped() {
        RedisUrl url = RedisUrl.parse(cluster.url());
        List<Runnable> sweeps = new ArrayList<>();
        LockKeys keys = new LockKeys("idle-" + UUID.randomUUID() + ":");
        try (RedisPort port = new JedisClusterPort(
                        url.hosts(),
                        node -> new OwnConnections(
                                () -> node,
                                node.toString(),
                                OwnConnections.config(url),
                                url.options(),
                                MonotonicClock.SYSTEM),
                        "test",
                        url.options(),
                        MonotonicClock.SYSTEM);
                WaiterChannels channels =
                        new WaiterChannels(port, keys, slot -> new NoOpSubscriber(), () -> Set.of(7), sweeps::add)) {
            get(channels.subscribe(7));
            get(channels.subscribe(8));
            String seven = channels.name(7);
            assertThat(channels.isSubscribed(8)).isTrue();
            assertThat(sweeps).hasSize(1);
            sweeps.remove(0).run();
            sweeps.remove(0).run();
            assertThat(channels.isSubscribed(8)).isFalse();
            assertThat(channels.name(7)).isEqualTo(seven);
            awaitUntil(() -> shardChannels().stream()
                            .filter(one -> one.startsWith("idle-"))
                            .count()
                    == 1);
            get(channels.subscribe(8));
            awaitUntil(() -> shardChannels().stream()
                            .filter(one -> one.startsWith("idle-"))
                            .count()
                    == 2);
        }
    }

    @Test
    void nodesWithoutShardedChannelsUsePlainOnes() {
        subscribedOnPlainChannels(RedisServer.start(
                "--cluster-enabled", "yes", "--rename-command", "SSUBSCRIBE", "", "--rename-command", "SPUBLISH", ""));
        subscribedOnPlainChannels(RedisServer.startOld("--cluster-enabled", "yes"));
    }

    private void subscribedOnPlainChannels(RedisServer alone) {
        try (RedisServer node = alone) {
            serveAll(node);
            RedisLockStoreProvider provider = new RedisLockStoreProvider();
            try (LockStore store = provider.open(node.url() + "?cluster=true&ticketTtl=1m", MonotonicClock.SYSTEM);
                    LockStore other = provider.open(node.url() + "?cluster=true&ticketTtl=1m", MonotonicClock.SYSTEM)) {
                Claim holder = alice.mutex(name);
                granted(store, holder);
                RecordingListener listener = waiting(other, bob.mutex(name));
                assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
                get(store.release(holder));
                awaitGrant(listener);
            }
        }
    }

    @Test
    void wrongTopologyIsReported() {
        RedisServer elsewhere = cluster.servers().stream()
                .filter(server -> server != cluster.primaryOf("holdfast:{holdfast}"))
                .findFirst()
                .orElseThrow();
        assertThatThrownBy(() -> new RedisLockStoreProvider().open(elsewhere.url(), MonotonicClock.SYSTEM))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("add cluster=true");
        try (RedisServer single = RedisServer.start()) {
            assertThatThrownBy(() ->
                            new RedisLockStoreProvider().open(single.url() + "?cluster=true", MonotonicClock.SYSTEM))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("leave out cluster=true");
        }
    }

    @Test
    void severalNamesAreTakenOneAfterTheOther() throws InterruptedException {
        LockStore store = open("");
        assertThat(store.traits().atomicSeveral()).isFalse();
        Holdfast locks = connect("");
        try (Lease lease =
                locks.multiLock(name + "-1", name + "-2", name + "-3").acquire()) {
            assertThat(lease.names()).hasSize(3);
            assertThat(get(store.list(name + "-", 10))).hasSize(3);
        }
        assertThat(get(store.list(name + "-", 10))).isEmpty();
    }

    private static RedisServer anotherPrimaryThan(RedisServer one) {
        return cluster.servers().stream()
                .filter(server -> server != one && isPrimary(server))
                .findFirst()
                .orElseThrow();
    }

    private static boolean isPrimary(RedisServer server) {
        try (Jedis jedis = server.connect()) {
            return jedis.info("replication").contains("role:master");
        }
    }

    private static List<String> shardChannels() {
        List<String> all = new ArrayList<>();
        for (RedisServer server : cluster.servers()) {
            try (Jedis jedis = server.connect()) {
                all.addAll(jedis.pubsubShardChannels());
            }
        }
        return all;
    }

    private static final class NoOpSubscriber implements RedisPort.Subscriber {

        @Override
        public void message(String text) {}

        @Override
        public void resubscribed() {}
    }

    private LockStore open(String options) {
        return openUrl(cluster.url() + options);
    }

    private LockStore openUrl(String url) {
        LockStore store = new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
        opened.add(store);
        return store;
    }

    private Holdfast connect(String options) {
        Holdfast locks = Holdfast.connect(cluster.url() + options);
        opened.add(locks);
        return locks;
    }
}
