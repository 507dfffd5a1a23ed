package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;

/**
 * A primary and two replicas, each beside a Sentinel. One of the three places is cut off from the others. All clients
 * know all Sentinels.
 */
final class RedisSentinelsTarget implements TargetCluster, AutoCloseable {

    static final Duration LEASE = Duration.ofSeconds(1);

    /** A primary that is cut off is replaced after about 2 s. */
    static final Duration BOUND = LEASE.plusSeconds(3);

    private final ClusterNetwork network;
    private final RedisSentinels servers;

    RedisSentinelsTarget(ClusterNetwork network) {
        this.network = network;
        this.servers = RedisSentinels.startIn(network);
    }

    @Override
    public String url() {
        return servers.url() + "?timeout=1s";
    }

    @Override
    public void cutOffLeader() {
        network.cutOff(primary());
    }

    @Override
    public void cutOffFollower() {
        network.cutOff((primary() + 1) % ClusterNetwork.SERVERS);
    }

    private int primary() {
        return servers.servers().indexOf(servers.named());
    }

    @Override
    public void heal() {
        network.heal();
        servers.awaitCalm();
    }

    @Override
    public void close() {
        servers.close();
    }
}
