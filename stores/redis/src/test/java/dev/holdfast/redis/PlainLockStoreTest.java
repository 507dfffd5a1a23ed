package dev.holdfast.redis;

import org.junit.jupiter.api.AutoClose;

/**
 * The laws in the plain layout, on a real server that has none of the commands that compare, so that scripts do
 * everything.
 */
class PlainLockStoreTest extends HeldRedisTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.startWithClock();

    PlainLockStoreTest() {
        super(SERVER, SERVER.url() + "?layout=plain");
    }
}
