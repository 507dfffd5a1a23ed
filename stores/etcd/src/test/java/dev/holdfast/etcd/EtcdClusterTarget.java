package dev.holdfast.etcd;

import dev.holdfast.testkit.nemesis.TargetCluster;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Three servers, of which one is cut off from the others. Three clients in four keep to one server, and the fourth
 * knows them all.
 */
final class EtcdClusterTarget extends TargetCluster {

    private static final Duration SESSION = Duration.ofSeconds(2);

    /** So long that a holder has lost its lock when the session may have ended, and not when the lease has. */
    static final Duration LEASE = SESSION.multipliedBy(5);

    /** An election takes 2 s, and gives each session its whole time again. */
    static final Duration BOUND = SESSION.plusSeconds(3);

    private final List<EtcdServer> members;
    private int clients;

    EtcdClusterTarget(ClusterNetwork network) {
        super(network);
        this.members = EtcdServer.startCluster(network);
    }

    @Override
    protected String url() {
        int client = clients++ % (ClusterNetwork.SERVERS + 1);
        String hosts = client < ClusterNetwork.SERVERS
                ? members.get(client).address()
                : members.stream().map(EtcdServer::address).collect(Collectors.joining(","));
        return "etcd://" + hosts + "?session=" + SESSION.toSeconds() + "s&timeout=1s";
    }

    @Override
    protected int leader() {
        return members.indexOf(EtcdServer.leader(members));
    }

    @Override
    protected void awaitServers() {
        members.forEach(EtcdServer::awaitHealth);
    }

    @Override
    public void close() {
        members.forEach(EtcdServer::close);
    }
}
