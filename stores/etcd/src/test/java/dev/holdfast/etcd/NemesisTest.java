package dev.holdfast.etcd;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.ClusterNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes add to a set under one lock, while they, their lines, their sessions and the servers are disturbed. */
@Timeout(3_600)
class NemesisTest {

    @Test
    void nothingIsLostAndNoTwoHoldAtOnce() {
        try (EtcdServer server = EtcdServer.start()) {
            FaultRun.run(scenario(server));
        }
    }

    /** Until its holder has learned of the end of its session, the next one may hold, too. */
    @Test
    @OnDemand
    void nothingIsLostWhenSessionsAreEndedFromOutside() {
        try (EtcdServer server = EtcdServer.start()) {
            FaultRun.run(scenario(server).withoutExclusion().with(Injection.END_SESSION, Injection.FREEZE_HOLDER));
        }
    }

    /** Clients reach all servers meanwhile. */
    @Test
    @OnDemand
    void nothingIsLostWhenAServerIsCutOffFromTheOthers() {
        try (ClusterNetwork network = new ClusterNetwork();
                EtcdClusterTarget servers = new EtcdClusterTarget(network)) {
            FaultRun.run(Scenario.onCluster(servers, EtcdClusterTarget.LEASE, EtcdClusterTarget.BOUND));
        }
    }

    private static Scenario scenario(EtcdServer server) {
        return Scenario.onServer(new EtcdTarget(server), EtcdTarget.SESSION, EtcdTarget.BOUND);
    }
}
