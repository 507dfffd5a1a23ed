package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.testkit.StoreTest;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** A server as one node of a quorum: it never passes for one that has kept its data if it may have lost some. */
public abstract class NodeLaws extends StoreTest {

    private static final String MARK = "holdfast:node";

    private final RedisServer server = closing(RedisServer.start("--appendonly", "yes", "--appendfsync", "always"));

    /**
     * Opens a store.
     *
     * @param url the URL in the form for Jedis
     */
    protected abstract LockStore open(String url);

    /** How a store of one server can be a node. */
    protected abstract NodeRole role();

    private LockStore connected(RedisServer to) {
        return closing(open(to.url()));
    }

    private NodeAttempt asked(LockStore store) {
        LockName fresh = new LockName("test-" + UUID.randomUUID());
        NodeAttempt attempt = get(store.tryAcquireAsNode(alice.mutex(fresh), 1, false));
        assertThat(attempt.attempt()).isInstanceOf(Granted.class);
        return attempt;
    }

    /** Asks a server whose client may find its connections closed. */
    private NodeAttempt askedAfterARestart(LockStore store) {
        awaitUntil(() -> {
            try {
                asked(store);
                return true;
            } catch (StoreException stillConnecting) {
                return false;
            }
        });
        return asked(store);
    }

    /** Lets the mark look as if the server had kept its data for a day. */
    private static void growOld(RedisServer node) {
        node.ask(jedis -> {
            String[] parts = jedis.get(MARK).split(" ", -1);
            long since = Long.parseLong(parts[1]) - 86_400_000_000L;
            return jedis.set(MARK, parts[0] + " " + since);
        });
    }

    /** A node that has kept its data for a day, by its mark. */
    private NodeAttempt old(LockStore store) {
        asked(store);
        growOld(server);
        NodeAttempt old = asked(store);
        assertThat(old.age()).hasHours(24);
        return old;
    }

    private static void lostItsAge(NodeAttempt old, NodeAttempt after) {
        assertThat(after.incarnation()).isGreaterThan(old.incarnation());
        assertThat(after.age()).isLessThan(old.age().dividedBy(2));
    }

    @Test
    void oneServerIsANodeAndAClusterIsNot() {
        assertThat(connected(server).traits().node()).isEqualTo(role());
        RedisCluster cluster = closing(RedisCluster.start());
        LockStore ofCluster = closing(open(cluster.url()));
        assertThat(ofCluster.traits().node()).isEqualTo(NodeRole.NONE);
        assertThatThrownBy(() -> ofCluster.tryAcquireAsNode(alice.mutex(name), 1, false))
                .isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void allClientsSeeOneIncarnation() {
        LockStore one = connected(server);
        NodeAttempt old = old(one);
        assertThat(asked(connected(server)).incarnation()).isEqualTo(old.incarnation());
    }

    @Test
    void restartThatKeepsTheDataIsNoticed() {
        LockStore store = connected(server);
        NodeAttempt old = old(store);
        server.stop();
        server.startAgain();
        boolean kept = server.ask(jedis -> jedis.exists(MARK));
        assertThat(kept).isTrue();
        lostItsAge(old, askedAfterARestart(store));
    }

    @Test
    void restartWithoutDataIsNoticed() {
        LockStore store = connected(server);
        NodeAttempt old = old(store);
        server.ask(Jedis::flushAll);
        server.kill();
        server.startAgain();
        lostItsAge(old, askedAfterARestart(store));
    }

    @Test
    void deletionOfAllKeysIsNoticed() {
        LockStore store = connected(server);
        NodeAttempt old = old(store);
        server.ask(Jedis::flushAll);
        lostItsAge(old, asked(store));
    }

    /** Makes the server old while another one copies all that it has, its mark too. */
    private NodeAttempt oldWithReplica(LockStore store, RedisServer replica) {
        replica.follow(server);
        NodeAttempt old = old(store);
        awaitUntil(() -> mark(server).equals(mark(replica)));
        return old;
    }

    private static String mark(RedisServer of) {
        return String.valueOf(of.<String>ask(jedis -> jedis.get(MARK)));
    }

    @Test
    void promotedReplicaIsNoticed() {
        RedisServer replica = closing(RedisServer.start());
        NodeAttempt old = oldWithReplica(connected(server), replica);
        replica.ask(Jedis::replicaofNoOne);
        lostItsAge(old, asked(connected(replica)));
    }

    /** What it had before was replaced by what the other server has, with its own old mark. */
    @Test
    void serverThatWasAReplicaInBetweenIsNoticed() {
        RedisServer other = closing(RedisServer.start());
        NodeAttempt old = oldWithReplica(connected(server), other);
        other.ask(Jedis::replicaofNoOne);
        server.follow(other);
        server.ask(Jedis::replicaofNoOne);
        lostItsAge(old, askedAfterARestart(connected(server)));
    }

    /** The next copy of its primary's data undoes what was written to it, and has the mark of the primary. */
    @Test
    void replicaThatTakesWritesNeverLooksOld() {
        RedisServer replica = closing(RedisServer.start("--replica-read-only", "no"));
        NodeAttempt old = oldWithReplica(connected(server), replica);
        LockStore store = connected(replica);
        lostItsAge(old, asked(store));
        lostItsAge(old, asked(store));
    }

    /** A server takes a new id for its first replica, as it does when it starts. */
    @Test
    void firstReplicaCostsAServerItsAge() {
        LockStore store = connected(server);
        NodeAttempt old = old(store);
        RedisServer replica = closing(RedisServer.start());
        replica.follow(server);
        lostItsAge(old, asked(store));
    }

    @Test
    void replicaGrantsNothing() {
        RedisServer replica = closing(RedisServer.start());
        old(connected(server));
        LockStore store = connected(replica);
        replica.follow(server);
        StoreException failure = failure(store.tryAcquireAsNode(alice.mutex(name), 1, false));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void clockThatWasSetBackGivesNoNegativeAge() {
        LockStore store = connected(server);
        asked(store);
        server.ask(jedis -> {
            String[] parts = jedis.get(MARK).split(" ", -1);
            return jedis.set(MARK, parts[0] + " " + (Long.parseLong(parts[1]) + 86_400_000_000L));
        });
        assertThat(asked(store).age()).isZero();
    }

    @Test
    void markIsNoLock() {
        LockStore store = connected(server);
        granted(store, alice.mutex(name));
        asked(store);
        assertThat(get(store.list("", 10))).hasSize(2);
        long timeToLive = server.ask(jedis -> jedis.ttl(MARK));
        assertThat(timeToLive).isEqualTo(-1);
    }

    @Test
    void foreignMarkIsReplaced() {
        LockStore store = connected(server);
        NodeAttempt old = old(store);
        server.ask(jedis -> jedis.set(MARK, "something else"));
        lostItsAge(old, asked(store));
    }
}
