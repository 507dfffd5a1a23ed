package dev.holdfast.shedlock;

import dev.holdfast.redis.RedisServer;
import org.junit.jupiter.api.AfterAll;

class RedisShedLockTest extends ShedLockKit {

    private static final RedisServer SERVER = RedisServer.start();

    RedisShedLockTest() {
        super(SERVER.url());
    }

    @AfterAll
    static void stop() {
        SERVER.close();
    }
}
