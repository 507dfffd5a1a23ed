package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ClusterNetwork;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A primary of a cluster that is cut off from the other nodes, while its clients reach all of them. */
class CutOffPrimaryTest extends StoreTest {

    /**
     * Before, a client that had asked this node for its table of slots went on to ask it, and it named itself for as long as
     * it was cut off. So it was asked for locks, too, and refused, although its replica had taken over.
     */
    @Test
    void itsLocksAreAcquiredAtTheReplicaThatHasTakenOver() {
        ClusterNetwork network = closing(new ClusterNetwork(RedisClusterTarget.SERVERS));
        RedisCluster cluster = closing(RedisCluster.startIn(network));
        RedisServer first = cluster.servers().get(0);
        LockName there = IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> new LockName(name + "-" + i))
                .filter(one -> cluster.primaryOf("holdfast:{" + one + "}") == first)
                .findFirst()
                .orElseThrow();
        LockStore store = closing(new RedisLockStoreProvider().open(cluster.url(), MonotonicClock.SYSTEM));
        Claim before = alice.mutex(there).withLease(Duration.ofSeconds(1));
        repaired(() -> granted(store, before));
        network.cutOff(0);
        RedisServer replica = cluster.servers().get(RedisClusterTarget.SERVERS / 2);
        awaitUntil(() -> replica.ask(jedis -> jedis.info("replication")).contains("role:master"));
        Claim after = bob.mutex(there).again();
        awaitUntil(() -> repaired(() -> get(store.tryAcquire(after))) instanceof Granted);
        assertThat(repaired(() -> get(store.renew(List.of(after))))).allMatch(Granted.class::isInstance);
        network.heal();
    }
}
