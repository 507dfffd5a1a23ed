package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws in the layout of time stamps. */
class TimestampLockStoreTest extends LockStoreTck {

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
        return new RedisLockStoreProvider().open(server.url() + "?layout=timestamps", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
