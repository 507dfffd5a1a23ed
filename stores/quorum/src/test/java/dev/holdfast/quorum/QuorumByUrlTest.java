package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Three real Redis servers as one store, named by a URL. */
class QuorumByUrlTest extends StoreTest {

    private static final Duration LEASE = Duration.ofMinutes(1);

    private final List<RedisServer> servers =
            List.of(closing(RedisServer.start()), closing(RedisServer.start()), closing(RedisServer.start()));
    private final Claimant carol = new Claimant("carol", LEASE);
    private final Claimant dave = new Claimant("dave", LEASE);

    private String url() {
        return servers.stream().map(RedisServer::url).collect(Collectors.joining(",", "quorum:", ""));
    }

    private LockStore open(String options) {
        return closing(new QuorumLockStoreProvider().open(url() + options, MonotonicClock.SYSTEM));
    }

    @Test
    void libraryConnectsByTheUrl() throws InterruptedException {
        try (Holdfast locks = Holdfast.connect(url() + "#newNodes=true&nodeTimeout=5s");
                Lease lease = locks.lock(name.value()).acquire(Duration.ofSeconds(30))) {
            assertThat(lease.token()).isPositive();
        }
    }

    /** The servers have just been started, and nobody has said that they are new. */
    @Test
    void freshServersAreNotCountedWithoutTheOption() {
        assertThat(failure(open("#nodeTimeout=5s").tryAcquire(carol.mutex(name))))
                .hasMessageContaining("may have lost data");
    }

    @Test
    void serverThatIsDownAtTheStartIsANodeWhenItIsUp() {
        servers.get(2).kill();
        LockStore store = open("#newNodes=true&nodeTimeout=5s");
        Claim claim = carol.mutex(name);
        granted(store, claim);
        servers.get(2).startAgain();
        LockStore third =
                closing(new RedisLockStoreProvider().open(servers.get(2).url(), MonotonicClock.SYSTEM));
        awaitUntil(() -> {
            // The renewal gives the claim to a node that has come back.
            get(store.renew(List.of(claim)));
            return !holders(third, name).isEmpty();
        });
        busy(store, dave.mutex(name));
        assertThat(released(store, claim)).isTrue();
        awaitUntil(() -> holders(third, name).isEmpty());
    }

    @Test
    void withoutAMajorityItIsNotOpenedAndTheErrorNamesTheServers() {
        servers.get(0).kill();
        servers.get(2).kill();
        assertThatThrownBy(() -> Holdfast.connect(url()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("No majority of the 3 nodes")
                .hasMessageContaining(Integer.toString(servers.get(0).port()))
                .hasMessageContaining(Integer.toString(servers.get(2).port()));
    }
}
