package dev.holdfast.memcached;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.MemcachedServer;
import dev.holdfast.testkit.process.ServerClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes add to a set under one lock while the server's wall clock is set by an hour, either way. It counts by another one. */
@Timeout(3_600)
class ServerClockTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    @Test
    void noTwoHoldAtOnce() {
        try (MemcachedServer server = MemcachedServer.prepare()) {
            ServerClock clock = new ServerClock(server.folder());
            server.startBehind(clock.prefix());
            server.startAgain();
            FaultRun.run(Scenario.onServer(new MemcachedTarget(server), LEASE, LEASE.plusSeconds(1))
                    .with(Injection.FREEZE_HOLDER, Injection.BREAK_LINE)
                    .withStepsOf(clock));
        }
    }
}
