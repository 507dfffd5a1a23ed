package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;

/**
 * A primary and two replicas, each beside a Sentinel. One of the three places is cut off from the others. All clients
 * know all Sentinels.
 */
final class RedisSentinelsTarget extends TargetCluster {

    static final Duration LEASE = Duration.ofSeconds(1);

    /** A primary that is cut off is replaced after about 2 s. */
    static final Duration BOUND = LEASE.plusSeconds(3);

    private final RedisSentinels servers;

    RedisSentinelsTarget(ClusterNetwork network) {
        super(network);
        this.servers = RedisSentinels.startIn(network);
    }

    @Override
    protected String url() {
        return servers.url() + "?timeout=1s";
    }

    @Override
    protected int leader() {
        return servers.servers().indexOf(servers.named());
    }

    @Override
    protected void awaitServers() {
        servers.awaitCalm();
    }

    @Override
    public void close() {
        servers.close();
    }
}
