package dev.holdfast.redis;

import static dev.holdfast.testkit.StoreTest.awaitGrant;
import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static dev.holdfast.testkit.StoreTest.get;
import static dev.holdfast.testkit.StoreTest.granted;
import static dev.holdfast.testkit.StoreTest.waiting;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Waits for a lock that another client holds, with a subscription that may be at a server that does not serve the lock any
 * more. It also waits for another lock in the same slot, by which the test sees what it has received.
 */
final class DisplacedWaiter {

    private final LockStore store;
    private final LockStore holding;
    private final Claim holder;
    private final Claim claim;
    private final Claim mark;
    private final Claim next;
    private RecordingListener listener = new RecordingListener();
    private RecordingListener nextListener = new RecordingListener();
    private RecordingListener marked = new RecordingListener();
    private String channel = "";

    /**
     * @param store the client that is going to wait
     * @param holding the client that holds the lock from now on
     */
    DisplacedWaiter(Claimant alice, Claimant bob, LockName name, LockStore store, LockStore holding) {
        LockName other = neighbour(name);
        this.store = store;
        this.holding = holding;
        this.holder = alice.mutex(name);
        this.claim = bob.mutex(name);
        this.mark = bob.mutex(other);
        this.next = alice.mutex(name);
        granted(holding, holder);
        granted(store, alice.mutex(other));
    }

    /**
     * A port that subscribes by the table of slots of one port, and asks by that of another one. It stands for a client
     * that has got a new table after it has subscribed, without a redirection in the slot of its channel: that would
     * move the channel at once.
     */
    static RedisPort port(RedisPort subscribing, RedisPort asking) {
        return (RedisPort) Proxy.newProxyInstance(
                RedisPort.class.getClassLoader(),
                new Class<?>[] {RedisPort.class},
                (proxy, method, arguments) ->
                        method.invoke(method.getName().endsWith("subscribe") ? subscribing : asking, arguments));
    }

    Claim claim() {
        return claim;
    }

    /** Begins to wait, at the server that serves the lock. */
    void begin(RedisServer primary) {
        listener = waiting(store, claim);
        marked = waiting(store, mark);
        String waiter = primary.ask(jedis -> jedis.hget("holdfast:{" + claim.name() + "}", ">" + claim.id()));
        channel = waiter.split("[ \n]", -1)[5];
    }

    void isSubscribedOnlyAt(RedisServer former, RedisServer primary) {
        assertThat(subscribers(former)).isEqualTo(1);
        assertThat(subscribers(primary)).isZero();
    }

    /**
     * Lets the holder release the lock, for which another claim waits behind this one.
     *
     * @param moved another client, which knows who serves the lock now
     */
    void isPassedOverOrGranted(LockStore moved) {
        nextListener = waiting(moved, next);
        get(moved.release(holder));
        awaitUntil(() -> isGranted(nextListener) || isGranted(listener));
    }

    /** The same, and sees that one of both claims is granted the lock, and not the other. */
    void isNotGrantedWhatAnotherOneIs(LockStore moved, RedisServer primary) {
        isPassedOverOrGranted(moved);
        // Messages arrive in their order, so this one comes after anything that the release has published.
        publish(primary, "ended " + mark.id());
        awaitUntil(() -> marked.outcome().isPresent());
        assertThat(isGranted(nextListener)).isNotEqualTo(isGranted(listener));
    }

    /** Sees that the client subscribes where the lock is served now, and is granted the lock after the other claim. */
    void followsThePrimary(LockStore moved, RedisServer primary) {
        if (isGranted(listener)) {
            return; // It was there already when the lock was released.
        }
        isSubscribedAt(primary);
        get(moved.release(next));
        awaitGrant(listener);
    }

    void isSubscribedAt(RedisServer primary) {
        awaitUntil(() -> waits() && subscribers(primary) == 1);
        awaitUntil(this::waits);
    }

    void isGrantedAfterTheHolder() {
        get(holding.release(holder));
        awaitGrant(listener);
    }

    private static boolean isGranted(RecordingListener one) {
        return one.outcome()
                .filter(RecordingListener.Event.Granted.class::isInstance)
                .isPresent();
    }

    private boolean waits() {
        try {
            return get(store.renew(List.of(claim))).get(0) instanceof Renewed.Waiting;
        } catch (StoreException notYet) {
            return false;
        }
    }

    private void publish(RedisServer server, String text) {
        server.ask(jedis -> isSharded(jedis)
                ? jedis.sendCommand(Protocol.Command.SPUBLISH, channel, text)
                : jedis.publish(channel, text));
    }

    private long subscribers(RedisServer server) {
        return server.ask(jedis ->
                (isSharded(jedis) ? jedis.pubsubShardNumSub(channel) : jedis.pubsubNumSub(channel)).get(channel));
    }

    // The channel of a slot ends with a brace; servers before Redis 7 have plain channels only.
    private boolean isSharded(Jedis jedis) {
        if (!channel.endsWith("}")) {
            return false;
        }
        try {
            jedis.pubsubShardNumSub(channel);
            return true;
        } catch (JedisDataException unknown) {
            return false;
        }
    }

    /** Another name in the same slot. */
    private static LockName neighbour(LockName name) {
        for (int i = 0; ; i++) {
            LockName other = new LockName(name + "-" + i);
            if (slot(other) == slot(name)) {
                return other;
            }
        }
    }

    private static int slot(LockName name) {
        return HashSlot.of(name.value().getBytes(StandardCharsets.UTF_8));
    }
}
