package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;

/** Three primaries and a replica of each. One of the six is cut off from the others. All clients know all of them. */
final class RedisClusterTarget extends TargetCluster {

    static final int SERVERS = 6;
    static final Duration LEASE = Duration.ofSeconds(1);

    /** A primary that is cut off is replaced after about 2 s. */
    static final Duration BOUND = LEASE.plusSeconds(3);

    private final RedisCluster servers;

    RedisClusterTarget(ClusterNetwork network) {
        super(network);
        this.servers = RedisCluster.startIn(network);
    }

    @Override
    protected String url() {
        return servers.url() + "?timeout=1s";
    }

    @Override
    protected int leader() {
        return servers.servers().indexOf(servers.primaryOf("{" + LOCK + "}"));
    }

    @Override
    protected void awaitServers() {
        servers.awaitReady();
    }

    @Override
    public void close() {
        servers.close();
    }
}
