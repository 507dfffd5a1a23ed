package dev.holdfast.zookeeper;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.SteppedClock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes add to a set under one lock while the server's wall clock is set by an hour, either way, which does nothing. */
@Timeout(3_600)
@OnDemand
class ServerClockTest {

    @TempDir
    Path folder;

    @BeforeAll
    static void theClockCanBeSet() {
        SteppedClock.require();
    }

    @Test
    void noTwoHoldAtOnce() throws IOException {
        SteppedClock clock = new SteppedClock(folder);
        try (ConfiguredServer server = new ConfiguredServer(
                clock.prefix(), folder, List.of("-Dzookeeper.forceSync=no"), List.of("minSessionTimeout=1000"))) {
            FaultRun.run(Scenario.onServer(new ZooKeeperTarget(server), ZooKeeperTarget.SESSION, ZooKeeperTarget.BOUND)
                    .with(Injection.FREEZE_HOLDER, Injection.BREAK_LINE)
                    .withStepsOf(clock));
        }
    }
}
