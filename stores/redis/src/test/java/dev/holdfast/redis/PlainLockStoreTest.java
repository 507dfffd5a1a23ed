package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import org.junit.jupiter.api.AutoClose;

/**
 * The laws in the plain layout, on a real server that has none of the commands that compare, so that scripts do
 * everything.
 */
class PlainLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.start();

    PlainLockStoreTest() {
        super(new RedisLockStoreProvider(), SERVER.url() + "?layout=plain");
        runsModel(3_000);
    }
}
