package dev.holdfast.etcd;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.ServerProcess;
import dev.holdfast.testkit.process.SmallDisk;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes add to a set under one lock while the disk of the server is full at times. */
@Timeout(3_600)
@OnDemand
class FullDiskTest {

    /** Two files of the log, of 64 MB each, and the data. */
    private static final int MEGABYTES = 200;

    @Test
    void noTwoHoldAtOnce() {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                EtcdServer server = EtcdServer.start(new ServerProcess("etcd", "", disk.folder()))) {
            FaultRun.run(Scenario.onServer(new EtcdTarget(server), EtcdTarget.SESSION, EtcdTarget.BOUND)
                    .with(Injection.FREEZE_HOLDER, Injection.KILL_CLIENT)
                    .withFull(disk));
        }
    }
}
