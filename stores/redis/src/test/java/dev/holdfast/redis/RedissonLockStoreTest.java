package dev.holdfast.redis;

import org.junit.jupiter.api.AutoClose;

/** The laws in the layout of Redisson's locks. */
class RedissonLockStoreTest extends HeldRedisTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.startWithClock();

    RedissonLockStoreTest() {
        super(SERVER, SERVER.url() + "?layout=redisson");
    }
}
