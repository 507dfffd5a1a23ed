package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.SmallDisk;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Processes add to a set under one lock while the disk of the server is full at times. With a sync for each write the server ends
 * then, and is started again when there is room; with one each second it refuses writes.
 */
@Timeout(3_600)
@OnDemand
class FullDiskTest {

    private static final Duration LEASE = Duration.ofSeconds(1);
    private static final int MEGABYTES = 16;

    @ParameterizedTest
    @ValueSource(strings = {"always", "everysec"})
    void noTwoHoldAtOnce(String sync) throws IOException {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                RedisServer server =
                        RedisServer.startBelow(disk.folder(), "--appendonly", "yes", "--appendfsync", sync)) {
            FaultRun.run(Scenario.onServer(new RedisTarget(server), LEASE, LEASE)
                    .with(Injection.FREEZE_HOLDER, Injection.KILL_CLIENT)
                    .withFull(disk));
        }
    }
}
