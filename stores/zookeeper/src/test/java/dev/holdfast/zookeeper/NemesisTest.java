package dev.holdfast.zookeeper;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes add to a set under one lock, while they, their lines, their sessions and the servers are disturbed. */
@Timeout(3_600)
class NemesisTest {

    /** With sessions as short as the target asks for. */
    static final Map<String, Object> SETTINGS = Map.of("minSessionTimeout", "1000");

    @Test
    void nothingIsLostAndNoTwoHoldAtOnce() throws IOException {
        try (ConfiguredServer server = server()) {
            FaultRun.run(scenario(server));
        }
    }

    /** Until its holder has learned of the end of its session, the next one may hold, too. */
    @Test
    @OnDemand
    void nothingIsLostWhenSessionsAreEndedFromOutside() throws IOException {
        try (ConfiguredServer server = server()) {
            FaultRun.run(scenario(server).withoutExclusion().with(Injection.END_SESSION, Injection.FREEZE_HOLDER));
        }
    }

    /** Clients reach all servers meanwhile. */
    @Test
    @OnDemand
    void nothingIsLostWhenAServerIsCutOffFromTheOthers(@TempDir Path directory) {
        try (ClusterNetwork network = new ClusterNetwork();
                ZooKeeperEnsembleTarget servers = new ZooKeeperEnsembleTarget(directory, network)) {
            FaultRun.run(Scenario.onCluster(servers, ZooKeeperEnsembleTarget.LEASE, ZooKeeperEnsembleTarget.BOUND));
        }
    }

    private static ConfiguredServer server() throws IOException {
        return ConfiguredServer.of(SETTINGS);
    }

    private static Scenario scenario(ConfiguredServer server) {
        return Scenario.onServer(new ZooKeeperTarget(server), ZooKeeperTarget.SESSION, ZooKeeperTarget.BOUND);
    }
}
