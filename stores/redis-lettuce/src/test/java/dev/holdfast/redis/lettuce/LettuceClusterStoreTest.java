package dev.holdfast.redis.lettuce;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws, on a cluster of three nodes through Lettuce. */
class LettuceClusterStoreTest extends LockStoreTck {

    private static final List<LocalRedis> NODES = new ArrayList<>();

    @BeforeAll
    static void startTheCluster() throws InterruptedException {
        LocalRedis.startCluster(NODES);
    }

    @AfterAll
    static void stopTheCluster() {
        NODES.forEach(LocalRedis::close);
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        String hosts = NODES.stream().map(node -> "127.0.0.1:" + node.port()).collect(Collectors.joining(","));
        return new LettuceLockStoreProvider().open("redis+lettuce://" + hosts + "?ticketTtl=2s", clock);
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(open(clock));
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
