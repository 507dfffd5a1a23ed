package dev.holdfast.redis;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * A cluster of Redis 6.2, which has no channels of a slot. A message on a plain channel arrives at every node, and a
 * subscription stays where it was made when the slot moves. So a waiter whose subscription was left behind hears what
 * the new primary publishes, although that one counts no subscriber.
 */
class OldClusterTest extends StoreTest {

    private static final String WITHOUT_REFRESHES = "?ticketTtl=1m";

    @AutoClose
    private static RedisCluster cluster = RedisCluster.startOld();

    private final int slot = HashSlot.of(name.value().getBytes(StandardCharsets.UTF_8));

    private LockStore connected() {
        return closing(new RedisLockStoreProvider().open(cluster.url() + WITHOUT_REFRESHES, MonotonicClock.SYSTEM));
    }

    @Test
    void waiterWhoseSlotHasMovedIsNotGrantedWhatAnotherOneIs() {
        List<RedisServer> ends = cluster.ownerAndAnother(slot);
        RedisServer to = ends.get(1);
        DisplacedWaiter waiter = new DisplacedWaiter(alice, bob, name, connected(), connected());
        waiter.begin(ends.get(0));
        RedisCluster.moveSlot(slot, ends.get(0), to);
        waiter.isSubscribedOnlyAt(ends.get(0), to);
        LockStore moved = connected();
        waiter.isNotGrantedWhatAnotherOneIs(moved, to);
        waiter.followsThePrimary(moved, to);
    }

    /** The waiter subscribes by the table of slots from before, at the node that is a replica now. */
    @Test
    void waiterAtAReplicaIsNotGrantedWhatAnotherOneIs() {
        RedisServer former = cluster.ownerAndAnother(slot).get(0);
        RedisPort outdated = closing(JedisPorts.open(RedisUrl.parse(cluster.url()), MonotonicClock.SYSTEM));
        get(outdated.slots());
        RedisPort asking = JedisPorts.open(RedisUrl.parse(cluster.url()), MonotonicClock.SYSTEM);
        LockStore waiting = closing(RedisLockStore.over(
                DisplacedWaiter.port(outdated, asking), WITHOUT_REFRESHES.substring(1), MonotonicClock.SYSTEM));
        DisplacedWaiter waiter = new DisplacedWaiter(alice, bob, name, waiting, connected());
        RedisServer promoted = cluster.failOver(slot);
        waiter.begin(promoted);
        waiter.isSubscribedOnlyAt(former, promoted);
        LockStore moved = connected();
        waiter.isNotGrantedWhatAnotherOneIs(moved, promoted);
        waiter.followsThePrimary(moved, promoted);
    }
}
