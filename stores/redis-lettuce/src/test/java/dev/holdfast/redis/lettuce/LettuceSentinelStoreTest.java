package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisSentinels;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a primary that Sentinels name, through Lettuce. */
class LettuceSentinelStoreTest extends LockStoreTck {

    private static RedisSentinels servers;

    // Nothing fails here, and a machine that is busy for a while is no reason to take the primary for dead.
    @BeforeAll
    static void startTheServers() {
        servers = RedisSentinels.start(Duration.ofSeconds(30));
    }

    @AfterAll
    static void stopTheServers() {
        servers.close();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(servers.url()) + "?ticketTtl=2s", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
