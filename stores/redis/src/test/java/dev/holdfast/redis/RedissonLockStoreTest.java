package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import org.junit.jupiter.api.AutoClose;

/** The laws in the layout of Redisson's locks. */
class RedissonLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.start();

    RedissonLockStoreTest() {
        super(new RedisLockStoreProvider(), SERVER.url() + "?layout=redisson");
        runsModel(3_000);
    }
}
