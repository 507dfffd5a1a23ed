package dev.holdfast.springintegration;

import dev.holdfast.redis.RedisServer;
import org.junit.jupiter.api.AfterAll;

class RedisLockRegistryTest extends RegistryScenarios {

    private static final RedisServer SERVER = RedisServer.start();

    RedisLockRegistryTest() {
        super(SERVER.url());
    }

    @AfterAll
    static void stop() {
        SERVER.close();
    }
}
