package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a cluster of six nodes. */
class RedisClusterStoreTest extends LockStoreTck {

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
        return open(clock, Duration.ofSeconds(2));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new RedisLockStoreProvider().open(cluster.url() + "?ticketTtl=" + ticketTtl.toMillis() + "ms", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The scripts are those of the store on one server, whose run meets it.
    @Override
    protected boolean modelRunMeetsExpiry() {
        return false;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
