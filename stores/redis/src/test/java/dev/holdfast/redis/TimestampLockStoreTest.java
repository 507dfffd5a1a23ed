package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import org.junit.jupiter.api.AutoClose;

/** The laws in the layout of time stamps. */
class TimestampLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.start();

    TimestampLockStoreTest() {
        super(new RedisLockStoreProvider(), SERVER.url() + "?layout=timestamps");
        runsModel(3_000);
    }
}
