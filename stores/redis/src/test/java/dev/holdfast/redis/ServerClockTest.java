package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.Scenario;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Processes add to a set under one lock while the server's wall clock is set by an hour, either way. A step forward ends all
 * leases, and one back lengthens them, so that two may hold. But tokens grow, nothing is lost, and nobody waits for an hour.
 */
@Timeout(3_600)
class ServerClockTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    @Test
    void tokensGrowAndNothingIsLost() {
        try (RedisServer server = RedisServer.startWithClock()) {
            FaultRun.run(Scenario.onServer(new RedisTarget(server), LEASE, LEASE)
                    .with(Injection.FREEZE_HOLDER, Injection.BREAK_LINE)
                    .withStepsOf(server.clock())
                    .withoutExclusion());
        }
    }
}
