package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.RedisCluster;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a cluster of six nodes through Lettuce. */
class LettuceClusterStoreTest extends LockStoreTck {

    private static RedisCluster cluster;

    @BeforeAll
    static void startTheCluster() {
        cluster = RedisCluster.start();
    }

    @AfterAll
    static void stopTheCluster() {
        cluster.close();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(cluster.url()) + "?ticketTtl=2s", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
