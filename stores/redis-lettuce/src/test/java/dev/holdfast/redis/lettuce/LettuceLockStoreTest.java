package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
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
        return new LettuceLockStoreProvider().open(LettuceUrl.of(server.url()) + "?ticketTtl=1500ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
