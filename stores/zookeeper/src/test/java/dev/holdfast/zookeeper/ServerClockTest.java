package dev.holdfast.zookeeper;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.ServerClock;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes add to a set under one lock while the server's wall clock is set by an hour, either way. Sessions count by another one. */
@Timeout(3_600)
class ServerClockTest {

    @Test
    void nothingIsLostAndNoTwoHoldAtOnce(@TempDir Path folder) throws IOException {
        ServerClock clock = new ServerClock(folder);
        try (ConfiguredServer server = ConfiguredServer.behind(clock.prefix(), NemesisTest.SETTINGS)) {
            FaultRun.run(Scenario.onServer(new ZooKeeperTarget(server), ZooKeeperTarget.SESSION, ZooKeeperTarget.BOUND)
                    .with(Injection.FREEZE_HOLDER, Injection.BREAK_LINE)
                    .withStepsOf(clock));
        }
    }
}
