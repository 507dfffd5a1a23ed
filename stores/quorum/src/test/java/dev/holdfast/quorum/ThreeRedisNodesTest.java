package dev.holdfast.quorum;

import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;

/** The laws, over three real Redis servers. */
class ThreeRedisNodesTest extends LockStoreTck {

    /** A machine that is busy with other things must not pass for nodes that are away. */
    private static final QuorumOptions OPTIONS = new QuorumOptions(Claim.MAX_LEASE, Duration.ofSeconds(5), true);

    private static final List<RedisServer> SERVERS = new ArrayList<>();

    int nodes() {
        return 3;
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        while (SERVERS.size() < nodes()) {
            SERVERS.add(RedisServer.start());
        }
        List<LockStore> stores = SERVERS.stream()
                .map(server -> new RedisLockStoreProvider().open(server.url(), clock))
                .toList();
        return QuorumLockStore.over(stores, OPTIONS);
    }

    @AfterAll
    static void stopTheServers() {
        SERVERS.forEach(RedisServer::close);
        SERVERS.clear();
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
