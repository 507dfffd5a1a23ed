package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes add to a set under one lock in Redis, while they, their lines and the servers are disturbed. */
@Timeout(3_600)
class NemesisTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    /** One that loses nothing when it is killed. */
    @Test
    void nothingIsLostAndNoTwoHoldAtOnce() {
        try (RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always")) {
            FaultRun.run(scenario(server));
        }
    }

    /** One that may forget its last second when it is killed: then two may hold, but tokens grow. */
    @Test
    @OnDemand
    void nothingIsLostWithASyncEachSecond() {
        try (RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "everysec")) {
            FaultRun.run(scenario(server)
                    .withoutExclusion()
                    .with(Injection.KILL_SERVER, Injection.FREEZE_HOLDER, Injection.KILL_CLIENT));
        }
    }

    /** By the system, which drops the packets, and not by a program in between. */
    @Test
    @OnDemand
    void nothingIsLostWhenTheNetworkIsPartitioned() {
        try (RedisServer server = RedisServer.start()) {
            FaultRun.run(scenario(server).with(Injection.FREEZE_HOLDER).withPartitions());
        }
    }

    /**
     * A replaced primary that still answers grants what the new one does not know: then two may hold, but tokens
     * grow.
     */
    @Test
    @OnDemand
    void nothingIsLostWhenAServerIsCutOffFromTheOthers() {
        try (ClusterNetwork network = new ClusterNetwork();
                RedisSentinelsTarget servers = new RedisSentinelsTarget(network)) {
            FaultRun.run(Scenario.onCluster(servers, RedisSentinelsTarget.LEASE, RedisSentinelsTarget.BOUND)
                    .withoutExclusion());
        }
    }

    /** The same of a cluster, whose replicas replace their primaries by themselves. */
    @Test
    @OnDemand
    void nothingIsLostWhenANodeOfAClusterIsCutOffFromTheOthers() {
        try (ClusterNetwork network = new ClusterNetwork(RedisClusterTarget.SERVERS);
                RedisClusterTarget servers = new RedisClusterTarget(network)) {
            FaultRun.run(Scenario.onCluster(servers, RedisClusterTarget.LEASE, RedisClusterTarget.BOUND)
                    .withoutExclusion());
        }
    }

    @Test
    @OnDemand
    void aClientThatHasHadNoMemoryGoesOn() {
        try (RedisServer server = RedisServer.start()) {
            FaultRun.run(scenario(server).with(Injection.NO_MEMORY, Injection.FREEZE_HOLDER));
        }
    }

    private static Scenario scenario(RedisServer server) {
        return Scenario.onServer(new RedisTarget(server), LEASE, LEASE);
    }
}
