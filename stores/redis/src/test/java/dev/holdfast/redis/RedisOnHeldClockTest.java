package dev.holdfast.redis;

import org.junit.jupiter.api.AutoClose;

/** The laws, on a real server with a clock that can be held. */
class RedisOnHeldClockTest extends HeldRedisTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.startWithClock();

    RedisOnHeldClockTest() {
        super(SERVER, SERVER.url());
    }
}
