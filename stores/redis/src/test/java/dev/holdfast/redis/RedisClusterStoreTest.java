package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws, on a cluster of six nodes. */
class RedisClusterStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisCluster CLUSTER = RedisCluster.start();

    RedisClusterStoreTest() {
        super(new RedisLockStoreProvider(), CLUSTER.url() + "?ticketTtl=", Duration.ofSeconds(2));
        // The scripts are those of the store on one server, whose run meets it.
        meetsNoExpiryInModelRun();
        // The store's rules have their long run on another server.
        runsModel(3_000);
    }
}
