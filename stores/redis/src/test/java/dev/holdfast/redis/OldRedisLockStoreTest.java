package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws, on a real server of Redis 6.2. */
class OldRedisLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.startOld();

    OldRedisLockStoreTest() {
        super(new RedisLockStoreProvider(), SERVER.url() + "?ticketTtl=", Duration.ofMillis(1500));
        // The store's rules have their long run on another server.
        runsModel(1_000);
    }
}
