package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisSentinels;
import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws, on a primary that Sentinels name, through Lettuce. */
class LettuceSentinelStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisSentinels SERVERS = RedisSentinels.start();

    LettuceSentinelStoreTest() {
        super(new LettuceLockStoreProvider(), LettuceUrl.of(SERVERS.url()) + "?ticketTtl=", Duration.ofSeconds(2));
        // The scripts are those of the store on one server, whose run meets it.
        meetsNoExpiryInModelRun();
        // The store's rules have their long run on another server.
        runsModel(2_000);
    }
}
