package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;

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
        MovableName door = closing(new MovableName(first));
        Waiter waiter = new Waiter(connected(door.url()), connected(first.url()));
        waiter.begin(first);
        awaitUntil(() -> second.ask(jedis -> jedis.hexists(keyOf(name), ">" + waiter.claim.id())));
        second.ask(Jedis::replicaofNoOne);
        replicate(first, second);
        door.leadTo(second);
        waiter.isSubscribedOnlyAt(first, second);
        waiter.isNotGrantedWhatAnotherOneIs(connected(second.url()), second);
        waiter.followsThePrimary(second);
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
        Waiter waiter = new Waiter(subscribedBy(outdated, cluster), connected(cluster.url()));
        second.ask(Jedis::clusterFailover);
        awaitUntil(() -> cluster.isServed(key) && cluster.primaryOf(key) == second);
        cluster.awaitReady();
        waiter.begin(second);
        waiter.isSubscribedOnlyAt(first, second);
        waiter.isNotGrantedWhatAnotherOneIs(connected(cluster.url()), second);
        waiter.followsThePrimary(second);
    }

    /**
     * A store that subscribes by the table of slots of one port, and asks by that of another one. It stands for a
     * client that has got a new table after it has subscribed, without a redirection in the slot of its channel:
     * that would move the channel at once.
     */
    private LockStore subscribedBy(RedisPort subscribing, RedisCluster cluster) {
        RedisPort asking = port(cluster.url());
        RedisPort both = (RedisPort) Proxy.newProxyInstance(
                RedisPort.class.getClassLoader(),
                new Class<?>[] {RedisPort.class},
                (proxy, method, arguments) ->
                        method.invoke(method.getName().endsWith("subscribe") ? subscribing : asking, arguments));
        return closing(RedisLockStore.over(both, OPTIONS.substring(1), MonotonicClock.SYSTEM));
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
        Waiter waiter = new Waiter(connected(cluster.url()), connected(cluster.url()));
        waiter.begin(primary);
        RedisCluster.endSubscriptions(primary, slot(name));
        waiter.isSubscribedAt(primary);
        waiter.isGrantedAfter(waiter.holder);
    }

    /** A primary that refuses the subscription of a new connection, for some time, says later that it misses one. */
    @Test
    void refusedSubscriptionIsMadeAnew() {
        RedisCluster cluster = closing(RedisCluster.start());
        RedisServer primary = cluster.primaryOf(keyOf(name));
        Waiter waiter = new Waiter(connected(cluster.url()), connected(cluster.url()));
        waiter.begin(primary);
        // The server closes the connections of those who are subscribed to what they may not.
        primary.ask(jedis -> jedis.aclSetUser("default", "resetchannels"));
        awaitUntil(() -> !primary.ask(Jedis::aclLog).isEmpty());
        primary.ask(jedis -> jedis.aclSetUser("default", "allchannels"));
        waiter.isPassedOverOrGranted(connected(cluster.url()));
        waiter.followsThePrimary(primary);
    }

    /** Waits for a lock, and in the same slot for another one, by which the test sees what it has received. */
    private final class Waiter {

        private final LockStore store;
        private final LockStore holding;
        private final LockName other = neighbour(name);
        private final Claim holder = alice.mutex(name);
        private final Claim claim = bob.mutex(name);
        private final Claim mark = bob.mutex(other);
        private final Claim next = alice.mutex(name);
        private RecordingListener listener = new RecordingListener();
        private RecordingListener nextListener = new RecordingListener();
        private RecordingListener marked = new RecordingListener();
        private String channel = "";

        private Waiter(LockStore store, LockStore holding) {
            this.store = store;
            this.holding = holding;
            granted(holding, holder);
            granted(store, alice.mutex(other));
        }

        private void begin(RedisServer primary) {
            listener = waiting(store, claim);
            marked = waiting(store, mark);
            String record = primary.ask(jedis -> jedis.hget(keyOf(name), ">" + claim.id()));
            channel = record.split("[ \n]", -1)[5];
        }

        private void isSubscribedOnlyAt(RedisServer former, RedisServer primary) {
            assertThat(subscribers(former)).isEqualTo(1);
            assertThat(subscribers(primary)).isZero();
        }

        private void isPassedOverOrGranted(LockStore moved) {
            nextListener = waiting(moved, next);
            get(moved.release(holder));
            awaitUntil(() -> isGranted(nextListener) || isGranted(listener));
        }

        private void isNotGrantedWhatAnotherOneIs(LockStore moved, RedisServer primary) {
            isPassedOverOrGranted(moved);
            // Messages arrive in their order, so this one comes after anything that the release has published.
            publish(primary, "ended " + mark.id());
            awaitUntil(() -> marked.outcome().isPresent());
            assertThat(isGranted(nextListener)).isNotEqualTo(isGranted(listener));
        }

        private void followsThePrimary(RedisServer primary) {
            if (isGranted(listener)) {
                return; // It was there already when the lock was released.
            }
            isSubscribedAt(primary);
            get(open(primary).release(next));
            awaitGrant(listener);
        }

        private void isSubscribedAt(RedisServer primary) {
            awaitUntil(() -> waits() && subscribers(primary) == 1);
            awaitUntil(this::waits);
        }

        private void isGrantedAfter(Claim former) {
            get(holding.release(former));
            awaitGrant(listener);
        }

        private boolean isGranted(RecordingListener one) {
            return one.outcome()
                    .filter(RecordingListener.Event.Granted.class::isInstance)
                    .isPresent();
        }

        private LockStore open(RedisServer primary) {
            boolean cluster = primary.ask(jedis -> jedis.info("cluster")).contains("cluster_enabled:1");
            return closing(MovedPrimaryLaws.this.open(primary.url() + OPTIONS + (cluster ? "&cluster=true" : "")));
        }

        private boolean waits() {
            try {
                return get(store.renew(List.of(claim))).get(0) instanceof Renewed.Waiting;
            } catch (StoreException notYet) {
                return false;
            }
        }

        private boolean isSharded() {
            return channel.endsWith("}");
        }

        private void publish(RedisServer server, String text) {
            Protocol.Command command = isSharded() ? Protocol.Command.SPUBLISH : Protocol.Command.PUBLISH;
            server.ask(jedis -> jedis.sendCommand(command, channel, text));
        }

        private long subscribers(RedisServer server) {
            return server.ask(jedis ->
                    (isSharded() ? jedis.pubsubShardNumSub(channel) : jedis.pubsubNumSub(channel)).get(channel));
        }
    }

    private static void replicate(RedisServer replica, RedisServer primary) {
        replica.ask(jedis -> jedis.replicaof("127.0.0.1", primary.port()));
        awaitUntil(() -> replica.ask(jedis -> jedis.info("replication")).contains("master_link_status:up"));
    }

    private static String keyOf(LockName name) {
        return "holdfast:{" + name + "}";
    }

    /** Another name in the same slot. */
    private static LockName neighbour(LockName name) {
        int slot = slot(name);
        for (int i = 0; ; i++) {
            LockName other = new LockName(name + "-" + i);
            if (slot(other) == slot) {
                return other;
            }
        }
    }

    private static int slot(LockName name) {
        return HashSlot.of(keyOf(name).getBytes(StandardCharsets.UTF_8));
    }
}
