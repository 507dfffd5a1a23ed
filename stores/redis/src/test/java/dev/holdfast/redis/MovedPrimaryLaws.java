package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.FaultProxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/**
 * A waiter whose subscription is still at the former primary, which is a replica now. What the new primary publishes
 * reaches it, although the new primary knows no subscriber.
 */
public abstract class MovedPrimaryLaws extends StoreTest {

    private static final String OPTIONS = "?ticketTtl=1m";

    /**
     * Opens a store.
     *
     * @param url the URL in the form for Jedis
     */
    protected abstract LockStore open(String url);

    /**
     * Opens a port to a cluster.
     *
     * @param url the URL in the form for Jedis
     */
    protected abstract RedisPort port(String url);

    private LockStore connected(String url) {
        return closing(open(url + OPTIONS));
    }

    @Test
    void nameLeadsToAnotherServer() {
        RedisServer first = closing(RedisServer.start());
        RedisServer second = closing(RedisServer.start());
        replicate(second, first);
        // As a host name is that a name service can lead to another server: connections that are open stay.
        FaultProxy door = closing(new FaultProxy(first.port()));
        DisplacedWaiter waiter =
                new DisplacedWaiter(alice, bob, name, connected("redis://" + door.address()), connected(first.url()));
        waiter.begin(first);
        awaitUntil(() -> second.ask(
                jedis -> jedis.hexists(keyOf(name), ">" + waiter.claim().id())));
        second.ask(Jedis::replicaofNoOne);
        replicate(first, second);
        door.leadTo(second.port());
        waiter.isSubscribedOnlyAt(first, second);
        LockStore moved = connected(second.url());
        waiter.isNotGrantedWhatAnotherOneIs(moved, second);
        waiter.followsThePrimary(moved, second);
    }

    /** The waiter subscribes by the table of slots from before, at the node that is a replica now. */
    @Test
    void replicaOfAClusterIsPromoted() {
        RedisCluster cluster = closing(RedisCluster.start());
        String key = keyOf(name);
        RedisServer first = cluster.primaryOf(key);
        RedisServer second = cluster.replicaOf(first);
        RedisPort outdated = closing(port(cluster.url()));
        get(outdated.slots());
        LockStore waiting = closing(RedisLockStore.over(
                DisplacedWaiter.port(outdated, port(cluster.url())), OPTIONS.substring(1), MonotonicClock.SYSTEM));
        DisplacedWaiter waiter = new DisplacedWaiter(alice, bob, name, waiting, connected(cluster.url()));
        assertThat(cluster.failOver(slot(name))).isSameAs(second);
        waiter.begin(second);
        waiter.isSubscribedOnlyAt(first, second);
        LockStore moved = connected(cluster.url());
        waiter.isNotGrantedWhatAnotherOneIs(moved, second);
        waiter.followsThePrimary(moved, second);
    }

    /** The client's first wait in a slot that has moved since it asked for the table of slots. */
    @Test
    void slotMovesBeforeTheFirstWait() {
        slotMovesBeforeTheFirstWait(closing(RedisCluster.start()));
    }

    /** Nodes that do not know their own hosts leave them out of their answers. */
    @ParameterizedTest
    @ValueSource(strings = {"unknown-endpoint", "hostname"})
    void slotMovesToANodeThatNamesNoHost(String kindOfHosts) {
        slotMovesBeforeTheFirstWait(closing(RedisCluster.start("--cluster-preferred-endpoint-type", kindOfHosts)));
    }

    private void slotMovesBeforeTheFirstWait(RedisCluster cluster) {
        LockStore store = connected(cluster.url());
        LockStore other = connected(cluster.url());
        granted(store, alice.mutex(new LockName("warm")));
        Claim holder = alice.mutex(name);
        cluster.moveEmptySlot(slot(name), () -> granted(other, holder));
        RecordingListener listener = waiting(store, bob.mutex(name));
        get(other.release(holder));
        awaitGrant(listener);
    }

    /** As for a moment while a slot moves. */
    @Test
    void nodesThatNameEachOtherAreAskedAgainLater() {
        RedisCluster cluster = closing(RedisCluster.start());
        LockStore store = connected(cluster.url());
        granted(store, alice.mutex(new LockName("warm")));
        cluster.disagreeOn(slot(name));
        Claim claim = alice.mutex(name);
        isPassing(failure(store.tryAcquire(claim)));
        isPassing(failure(store.renew(List.of(claim))));
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim.again(), listener);
        isPassing(failure(listener));
    }

    private static void isPassing(StoreException failure) {
        assertThat(failure.retryable()).as("%s", failure).isTrue();
        assertThat(failure.effect()).isEqualTo(StoreException.Effect.NONE);
    }

    /** A primary may end a subscription although the connection stays, and the slot, too. */
    @Test
    void endedSubscriptionIsMadeAnew() {
        RedisCluster cluster = closing(RedisCluster.start());
        RedisServer primary = cluster.primaryOf(keyOf(name));
        DisplacedWaiter waiter =
                new DisplacedWaiter(alice, bob, name, connected(cluster.url()), connected(cluster.url()));
        waiter.begin(primary);
        RedisCluster.endSubscriptions(primary, slot(name));
        waiter.isSubscribedAt(primary);
        waiter.isGrantedAfterTheHolder();
    }

    /** A primary that refuses the subscription of a new connection, for some time, says later that it misses one. */
    @Test
    void refusedSubscriptionIsMadeAnew() {
        RedisCluster cluster = closing(RedisCluster.start());
        RedisServer primary = cluster.primaryOf(keyOf(name));
        DisplacedWaiter waiter =
                new DisplacedWaiter(alice, bob, name, connected(cluster.url()), connected(cluster.url()));
        waiter.begin(primary);
        // The server closes the connections of those who are subscribed to what they may not.
        primary.ask(jedis -> jedis.aclSetUser("default", "resetchannels"));
        awaitUntil(() -> !primary.ask(Jedis::aclLog).isEmpty());
        primary.ask(jedis -> jedis.aclSetUser("default", "allchannels"));
        LockStore moved = connected(cluster.url());
        waiter.isPassedOverOrGranted(moved);
        waiter.followsThePrimary(moved, primary);
    }

    private static void replicate(RedisServer replica, RedisServer primary) {
        replica.ask(jedis -> jedis.replicaof("127.0.0.1", primary.port()));
        awaitUntil(() -> replica.ask(jedis -> jedis.info("replication")).contains("master_link_status:up"));
    }

    private static String keyOf(LockName name) {
        return "holdfast:{" + name + "}";
    }

    private static int slot(LockName name) {
        return HashSlot.of(keyOf(name).getBytes(StandardCharsets.UTF_8));
    }
}
