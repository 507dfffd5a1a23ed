package dev.holdfast.jdbc;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.nemesis.TargetServer;
import dev.holdfast.testkit.process.ServerProcess;
import dev.holdfast.testkit.process.SmallDisk;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Processes add to a set under one lock while the disk of the database is full at times. Whatever the server does then, no two
 * hold at once, nothing is lost, and it goes on when there is room.
 */
@Timeout(3_600)
@OnDemand
class FullDiskTest {

    private static final Duration LEASE = Duration.ofSeconds(1);
    private static final int MEGABYTES = 160;

    /** With small files for the log, so that it needs room all the time. */
    @Test
    void noTwoHoldAtOnceOnPostgres() {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                PostgresServer server = PostgresServer.start(
                        new ServerProcess("postgres", PostgresServer.USER, disk.folder()), "--wal-segsize=1")) {
            fill(disk, new PostgresTarget(server));
        }
    }

    /** With a log of all changes, as for replicas, which needs room all the time. */
    @Test
    void noTwoHoldAtOnceOnMariaDb() {
        try (SmallDisk disk = SmallDisk.mount(MEGABYTES);
                MariaDbServer server = MariaDbServer.start(
                        new ServerProcess("mariadb", MariaDbServer.USER, disk.folder()),
                        "--innodb-log-file-size=4M",
                        "--log-bin=changes",
                        "--server-id=1",
                        "--sync-binlog=1")) {
            fill(disk, new MariaDbTarget(server));
        }
    }

    private static void fill(SmallDisk disk, TargetServer target) {
        FaultRun.run(Scenario.onServer(target, LEASE, LEASE)
                .with(Injection.FREEZE_HOLDER, Injection.KILL_CLIENT)
                .withFull(disk));
    }
}
