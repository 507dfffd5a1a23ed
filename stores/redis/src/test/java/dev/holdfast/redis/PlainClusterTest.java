package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The plain and the mixed layout on a cluster: both keys of a lock in one slot, batches and searches over all
 * nodes.
 */
class PlainClusterTest {

    @Test
    void locksAreSpreadOverTheNodes() {
        Claimant alice = new Claimant("alice", Duration.ofMinutes(10));
        try (RedisCluster cluster = RedisCluster.start();
                LockStore store =
                        new RedisLockStoreProvider().open(cluster.url() + "?layout=mixed", MonotonicClock.SYSTEM)) {
            List<Claim> claims = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                LockName name = new LockName(i % 2 == 0 ? "name-" + i : "{tag-" + i + "}-name");
                claims.add(i % 3 == 0 ? alice.read(name) : alice.mutex(name));
                StoreTest.granted(store, claims.get(i));
            }
            assertThat(StoreTest.get(store.renew(claims))).hasSize(60).allMatch(Granted.class::isInstance);
            assertThat(StoreTest.get(store.list("", 100))).hasSize(60);
            for (Claim claim : claims) {
                assertThat(StoreTest.get(store.inspect(claim.name()))
                                .orElseThrow()
                                .holders())
                        .hasSize(1);
                assertThat(StoreTest.get(store.release(claim)).wasOwner()).isTrue();
            }
            assertThat(StoreTest.get(store.list("", 100))).isEmpty();
            assertThat(StoreTest.failure(store.tryAcquire(alice.mutex(new LockName("a}b")))))
                    .hasMessageContaining("a}b")
                    .hasMessageContaining("several hash slots");
        }
    }
}
