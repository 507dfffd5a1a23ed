package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws, on a primary with two replicas that three Sentinels name. */
class RedisSentinelStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisSentinels SERVERS = RedisSentinels.start();

    RedisSentinelStoreTest() {
        super(new RedisLockStoreProvider(), SERVERS.url() + "?ticketTtl=", Duration.ofSeconds(2));
        // The scripts are those of the store on one server, whose run meets it.
        meetsNoExpiryInModelRun();
        // The store's rules have their long run on another server.
        runsModel(3_000);
    }
}
