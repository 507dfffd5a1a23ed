package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a real server of Redis 6.2. */
class OldRedisLockStoreTest extends LockStoreTck {

    private static RedisServer server;

    @BeforeAll
    static void startTheServer() {
        server = RedisServer.startOld();
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return open(clock, Duration.ofMillis(1500));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new RedisLockStoreProvider().open(server.url() + "?ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 1_000;
    }
}
