package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a real server through Lettuce. */
class LettuceLockStoreTest extends LockStoreTck {

    private static RedisServer server;

    @BeforeAll
    static void startTheServer() {
        server = RedisServer.start();
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
        return new LettuceLockStoreProvider()
                .open(LettuceUrl.of(server.url()) + "?ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
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
        return 3_000;
    }
}
