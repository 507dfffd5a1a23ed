package dev.holdfast.jdbc;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.nemesis.TargetServer;
import dev.holdfast.testkit.process.ServerClock;
import dev.holdfast.testkit.process.ServerProcess;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Processes add to a set under one lock while the database's wall clock is set by an hour, either way. A step forward ends all
 * leases, and one back lengthens them, so that two may hold. But tokens grow, nothing is lost, and nobody waits for an hour.
 */
@Timeout(3_600)
class ServerClockTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    @Test
    void tokensGrowAndNothingIsLostOnPostgres() {
        ServerProcess process = new ServerProcess("postgres", PostgresServer.USER);
        ServerClock clock = ServerClock.of(process);
        try (PostgresServer server = PostgresServer.start(process)) {
            step(clock, new PostgresTarget(server));
        }
    }

    @Test
    void tokensGrowAndNothingIsLostOnMariaDb() {
        ServerProcess process = new ServerProcess("mariadb", MariaDbServer.USER);
        ServerClock clock = ServerClock.of(process);
        try (MariaDbServer server = MariaDbServer.start(process)) {
            step(clock, new MariaDbTarget(server));
        }
    }

    private static void step(ServerClock clock, TargetServer target) {
        FaultRun.run(Scenario.onServer(target, LEASE, LEASE)
                .with(Injection.FREEZE_HOLDER, Injection.BREAK_LINE)
                .withStepsOf(clock)
                .withoutExclusion());
    }
}
