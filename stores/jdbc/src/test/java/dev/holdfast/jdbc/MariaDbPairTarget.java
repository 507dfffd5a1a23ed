package dev.holdfast.jdbc;

import dev.holdfast.jdbc.MariaDbPair.Replication;
import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;

/**
 * A primary and a replica that are cut off from each other: no commit of the primary is answered meanwhile, because none
 * is acknowledged. Nobody promotes the replica.
 */
final class MariaDbPairTarget extends TargetCluster {

    static final int SERVERS = 2;

    private static final int PRIMARY = 0;

    private final MariaDbPair servers;

    MariaDbPairTarget(ClusterNetwork network) {
        super(network);
        servers = MariaDbPair.startIn(network, Replication.SEMI_SYNCHRONOUS);
    }

    @Override
    protected String url() {
        return servers.url();
    }

    @Override
    protected int leader() {
        return PRIMARY;
    }

    @Override
    protected void awaitServers() {
        servers.awaitApplied();
    }

    @Override
    public void close() {
        servers.close();
    }
}
