package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import org.junit.jupiter.api.AutoClose;

/** The laws in the plain layout, on a real server of Redis 6.2. */
class OldPlainLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.startOld();

    OldPlainLockStoreTest() {
        super(new RedisLockStoreProvider(), SERVER.url() + "?layout=plain");
        // The store's rules have their long run on another server.
        runsModel(1_000);
    }
}
