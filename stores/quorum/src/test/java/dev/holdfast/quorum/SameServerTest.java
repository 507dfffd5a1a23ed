package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.FaultProxy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Two nodes in one server fail together, so they have one vote. Before, they were counted as two. */
class SameServerTest extends StoreTest {

    private final RedisServer one = closing(RedisServer.start());
    private final RedisServer other = closing(RedisServer.start());
    private final Claimant carol = new Claimant("carol", Duration.ofMinutes(1));
    private int tries;

    private static String url(String... nodes) {
        return "quorum:" + String.join(",", nodes) + "#newNodes=true&nodeTimeout=5s";
    }

    @Test
    void databasesOfOneServerAreRefused() {
        String database = one.url() + "/1";
        assertThatThrownBy(() -> Holdfast.connect(url(one.url(), database, other.url())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("in the same server")
                .hasMessageContaining(one.url() + " ")
                .hasMessageContaining(database)
                .hasMessageContaining("Replace one of them by another server");
    }

    @Test
    void oneServerUnderTwoNamesIsRefused() {
        String name = one.url().replace("127.0.0.1", "localhost");
        assertThatThrownBy(() -> Holdfast.connect(url(one.url(), other.url(), name)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(one.url())
                .hasMessageContaining(name);
    }

    @Test
    void oneStoreInMemoryIsOneNode() {
        LockStore twice = new MemoryLockStore();
        assertThatThrownBy(() -> QuorumLockStore.over(
                        List.of(twice, twice, new MemoryLockStore()),
                        new QuorumOptions(Duration.ofMinutes(1), Duration.ofSeconds(5), true)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("in the same server");
    }

    /** Nobody can tell when the quorum is opened, and it must be opened: a majority runs. */
    @Test
    void nodeThatIsDownAtTheStartHasNoVoteIfItIsInTheServerOfAnother() {
        RedisServer third = closing(RedisServer.start());
        FaultProxy proxy = closing(new FaultProxy(one.port()));
        proxy.refuse();
        String late = "redis://" + proxy.address() + "/1";
        LockStore store =
                closing(new QuorumLockStoreProvider().open(url(one.url(), late, other.url()), MonotonicClock.SYSTEM));
        granted(store, carol.mutex(name));
        proxy.heal();
        other.kill();
        awaitUntil(() -> refusal(store).contains("in the same server as redis store " + one.url()));
        proxy.leadTo(third.port());
        proxy.endConnections();
        awaitUntil(() -> refusal(store).contains("may have lost data"));
    }

    // The claims are of different names, since each of them may be left at a node until it is released there.
    private String refusal(LockStore store) {
        try {
            return String.valueOf(get(store.tryAcquire(carol.mutex(new LockName(name + "-" + ++tries)))));
        } catch (RuntimeException failure) {
            return failure.toString();
        }
    }
}
