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

    // No server fails here, so the time-out is long: a busy machine must not make the Sentinels consider the
    // primary down.
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
        return open(clock, Duration.ofSeconds(2));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new LettuceLockStoreProvider()
                .open(LettuceUrl.of(servers.url()) + "?ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The scripts are those of the store on one server, whose run meets it.
    @Override
    protected boolean modelRunMeetsExpiry() {
        return false;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
