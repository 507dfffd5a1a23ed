package dev.holdfast.memcached;

import dev.holdfast.testkit.nemesis.FaultRun;
import dev.holdfast.testkit.nemesis.Injection;
import dev.holdfast.testkit.nemesis.OnDemand;
import dev.holdfast.testkit.nemesis.Scenario;
import dev.holdfast.testkit.process.MemcachedServer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes add to a set under one lock on one Memcached server, while they, their lines and the server are disturbed. */
@Timeout(3_600)
class NemesisTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    /** What a dead client holds ends up to 3 s after its lease. */
    private static final Duration BOUND = Duration.ofSeconds(2);

    @Test
    void nothingIsLostAndNoTwoHoldAtOnce() {
        try (MemcachedServer server = MemcachedServer.start()) {
            FaultRun.run(scenario(server).without(Injection.KILL_SERVER, Injection.FREEZE_SERVER));
        }
    }

    /** It forgets what is held when it is killed, and ends too early what it stores just after it was frozen. Tokens grow. */
    @Test
    @OnDemand
    void nothingIsLostWhenTheServerForgets() {
        try (MemcachedServer server = MemcachedServer.start()) {
            FaultRun.run(scenario(server)
                    .withoutExclusion()
                    .with(Injection.KILL_SERVER, Injection.FREEZE_SERVER, Injection.FREEZE_HOLDER));
        }
    }

    private static Scenario scenario(MemcachedServer server) {
        return Scenario.onServer(new MemcachedTarget(server), LEASE, BOUND);
    }
}
