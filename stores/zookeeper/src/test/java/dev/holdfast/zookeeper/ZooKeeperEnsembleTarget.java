package dev.holdfast.zookeeper;

import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Three servers, of which one is cut off from the others. Three clients in four keep to one server, and the fourth
 * knows them all.
 */
final class ZooKeeperEnsembleTarget extends TargetCluster {

    private static final Duration SESSION = Duration.ofSeconds(2);

    /** So long that a holder has lost its lock when the session may have ended, and not when the lease has. */
    static final Duration LEASE = SESSION.multipliedBy(5);

    /** An election begins after 2 s, and gives each session its whole time again. */
    static final Duration BOUND = SESSION.plusSeconds(3);

    private final ThreeServers servers;
    private int clients;

    ZooKeeperEnsembleTarget(Path directory, ClusterNetwork network) {
        super(network);
        servers = new ThreeServers(directory, network);
        servers.awaitEnsemble();
    }

    @Override
    protected String url() {
        int client = clients++ % (ClusterNetwork.SERVERS + 1);
        String hosts = client < ClusterNetwork.SERVERS ? servers.host(client) : servers.hosts();
        return "zookeeper://" + hosts + "?sessionTimeout=" + SESSION.toSeconds() + "s&timeout=1s";
    }

    @Override
    protected int leader() {
        return servers.leader();
    }

    @Override
    protected void awaitServers() {
        servers.awaitEnsemble();
    }

    @Override
    public void close() {
        servers.close();
    }
}
