package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.redis.WithRedisson.OnlyWhenHinted;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.StoreTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Locks of Redisson's own clients, and ours, on a cluster: each side is woken on the channels that the other one uses. */
class RedissonClusterTest extends StoreTest {

    private static final int LOCKS = 6;

    @Test
    void shardedChannelsAreUsedWhereTheClusterHasThem() throws Exception {
        RedisCluster cluster = closing(RedisCluster.start());
        LockStore store = closing(WithRedisson.store(cluster.url()));
        bothAreWoken(store, cluster.servers().get(0), cluster::primaryOf);
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < LOCKS; i++) {
            claims.add(alice.mutex(new LockName("held-" + i)));
            granted(store, claims.get(i));
        }
        assertThat(get(store.renew(claims))).hasSize(LOCKS).allMatch(Granted.class::isInstance);
        assertThat(get(store.list("held", 100))).hasSize(LOCKS);
        assertThat(claims).allMatch(claim -> released(store, claim));
        // Redisson cannot unlock these on a cluster.
        for (String divided : List.of("a{b", "a}b", "{}b")) {
            assertThat(failure(store.tryAcquire(alice.mutex(new LockName(divided)))))
                    .hasMessageContaining(divided)
                    .hasMessageContaining("several hash slots");
        }
    }

    @Test
    void plainChannelsAreUsedWhereItHasNoOthers() throws Exception {
        RedisServer node =
                closing(RedisServer.startOld("--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"));
        node.ask(jedis -> {
            for (int from = 0; from < 16_384; from += 1_024) {
                int[] slots = IntStream.range(from, from + 1_024).toArray();
                jedis.clusterAddSlots(slots);
            }
            return jedis;
        });
        awaitUntil(() -> node.ask(jedis -> jedis.clusterInfo()).contains("cluster_state:ok"));
        bothAreWoken(closing(WithRedisson.store(node.url() + "?cluster=true")), node, key -> node);
    }

    private void bothAreWoken(LockStore store, RedisServer node, Function<String, RedisServer> servers)
            throws Exception {
        RedissonClient redisson = WithRedisson.clusterClient(node);
        try {
            for (int i = 0; i < LOCKS; i++) {
                LockName each = new LockName(i % 2 == 0 ? name + "-" + i : "{" + name + "-" + i + "}:lock");
                RLock theirs = redisson.getLock(each.value());
                Claim ours = alice.mutex(each);
                granted(store, ours);
                assertThat(theirs.tryLock()).isFalse();
                CompletableFuture<Void> theirWait = WithRedisson.waiting(theirs, servers.apply(each.value()));
                assertThat(released(store, ours)).isTrue();
                theirWait.get(1, TimeUnit.MINUTES);

                theirs.lock();
                OnlyWhenHinted hinted = new OnlyWhenHinted(store);
                Holdfast locks = closing(Holdfast.over(hinted));
                CompletableFuture<Void> ourWait = WithRedisson.onNewThread(() -> {
                    locks.lock(each.value()).lock();
                    locks.lock(each.value()).unlock();
                });
                awaitUntil(() -> hinted.busy() == 2);
                theirs.unlock();
                ourWait.get(1, TimeUnit.MINUTES);
            }
        } finally {
            redisson.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }
}
