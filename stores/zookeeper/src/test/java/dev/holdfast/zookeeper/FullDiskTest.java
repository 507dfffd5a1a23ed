package dev.holdfast.zookeeper;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.SmallDisk;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes add to a set under one lock while the disk of the server is full at times; the server ends then. */
@Timeout(3_600)
@OnDemand
class FullDiskTest {

    private static final int MEGABYTES = 32;

    /** So that the log of the server needs room all the time. */
    private static final String SMALL_STEPS = "-Dzookeeper.preAllocSize=64";

    @Test
    void noTwoHoldAtOnce() throws IOException {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                ConfiguredServer server = new ConfiguredServer(
                        disk.folder(),
                        List.of(SMALL_STEPS, "-Dzookeeper.forceSync=no"),
                        List.of("minSessionTimeout=1000"))) {
            FaultRun.run(Scenario.onServer(new ZooKeeperTarget(server), ZooKeeperTarget.SESSION, ZooKeeperTarget.BOUND)
                    .with(Injection.FREEZE_HOLDER, Injection.KILL_CLIENT)
                    .withFull(disk));
        }
    }
}
