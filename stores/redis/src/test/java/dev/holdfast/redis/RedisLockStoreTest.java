package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws, on a real server. */
class RedisLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.start();

    RedisLockStoreTest() {
        super(new RedisLockStoreProvider(), SERVER.url() + "?ticketTtl=", Duration.ofMillis(1500));
    }
}
