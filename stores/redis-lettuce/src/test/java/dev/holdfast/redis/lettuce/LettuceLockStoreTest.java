package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisServer;
import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws, on a real server through Lettuce. */
class LettuceLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.start();

    LettuceLockStoreTest() {
        super(new LettuceLockStoreProvider(), LettuceUrl.of(SERVER.url()) + "?ticketTtl=", Duration.ofMillis(1500));
        // The scripts are those of the store on one server, whose run meets it.
        meetsNoExpiryInModelRun();
        // The store's rules have their long run on another server.
        runsModel(3_000);
    }
}
