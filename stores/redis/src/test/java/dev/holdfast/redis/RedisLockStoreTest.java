package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a real server. */
class RedisLockStoreTest extends LockStoreTck {

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
        return new RedisLockStoreProvider().open(server.url() + "?ticketTtl=1500ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
