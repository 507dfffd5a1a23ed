package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.util.Delay;

/**
 * What a client makes of the answers of a Sentinel. The Sentinel is reached by a name that a name service can lead to
 * another one, and is asked when the test moves the clock.
 */
class SentinelAnswersTest extends StoreTest {

    private static final Duration ASK_EVERY = Duration.ofSeconds(1);

    private static final int MOST_QUESTIONS = 3;

    private final ManualClock clock = new ManualClock();
    private final RedisServer primary = closing(RedisServer.start());
    private final RedisServer other = closing(RedisServer.start());
    private final RedisServer sentinel = closing(sentinelOf(primary, 7));
    private final CommandDouble door = closing(new CommandDouble(sentinel));
    private long hosts;

    @Test
    void sentinelThatIsBehindIsNotBelievedBeforeItHasInsisted() {
        LockStore store = open(door.address());
        doorLeadsTo(closing(sentinelOf(other, 6)));
        for (int i = 0; i < 4; i++) {
            ask();
        }
        assertThat(isAtThePrimary(store)).isTrue();
        clock.advance(Duration.ofSeconds(10));
        leavesThePrimary(store);
    }

    @Test
    void sentinelThatIsNamedTwiceHasOneVote() {
        RedisServer silent = closing(sentinelOf(primary, 7));
        LockStore store = open(door.address() + "," + door.address() + ",127.0.0.1:" + silent.port());
        silent.kill();
        doorLeadsTo(closing(sentinelOf(other, 6)));
        for (int i = 0; i < 3; i++) {
            clock.advance(Duration.ofSeconds(10));
            ask();
        }
        assertThat(isAtThePrimary(store)).isTrue();
    }

    /** A Sentinel that cannot resolve the host name of the primary gives an empty one. */
    @Test
    void sentinelIsAskedAgainAfterAnAnswerThatCannotBeRead() {
        LockStore store = open(door.address());
        doorLeadsTo(closing(RedisServer.startSentinelWith(
                "sentinel resolve-hostnames yes", "sentinel monitor " + RedisSentinels.NAME + " a..b 6379 1")));
        ask();
        assertThat(isAtThePrimary(store)).isTrue();
        doorLeadsTo(closing(sentinelOf(other, 8)));
        leavesThePrimary(store);
    }

    @Test
    void sentinelIsNotFloodedWhileConnectionsFail() {
        LockStore store = open(door.address());
        primary.kill();
        awaitUntil(this::allWait);
        door.reset();
        for (int i = 0; i < 100; i++) {
            failure(store.tryAcquire(bob.mutex(name)));
        }
        assertThat(requests()).as("no time has passed").isZero();
        clock.advance(Duration.ofMillis(50));
        awaitUntil(() -> requests() > 0);
    }

    /** The old primary still answers, and the client has closed only those of its connections to it that were idle. */
    @Test
    void connectionsThatAreKeptFollowTheClientOfTheUsers() {
        try (RedisSentinelClient client = RedisSentinelClient.builder()
                .masterName(RedisSentinels.NAME)
                .sentinels(Set.of(HostAndPort.from(door.address())))
                .sentinelReconnectDelay(Delay.constant(Duration.ofMillis(50)))
                .build()) {
            LockStore store = closing(RedisLockStore.over(client, "ticketTtl=1m"));
            Claim holder = alice.mutex(name);
            granted(store, holder);
            waiting(store, bob.mutex(name));
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
            door.leadTo(closing(sentinelOf(other, 8)));
            awaitUntil(() -> !isAtThePrimary(store));
            assertThat(renewed(store, holder)).isInstanceOf(Renewed.Gone.class);
            // Its Sentinel subscribes to a channel there, too.
            awaitUntil(
                    () -> other.ask(jedis -> jedis.pubsubChannels("holdfast*")).size() == 1);
        }
    }

    private static RedisServer sentinelOf(RedisServer server, int epoch) {
        return RedisServer.startSentinelWith(
                "sentinel monitor " + RedisSentinels.NAME + " 127.0.0.1 " + server.port() + " 1",
                "sentinel config-epoch " + RedisSentinels.NAME + " " + epoch);
    }

    /** Opens a store, and takes a lock by which it is seen which server the store uses. */
    private LockStore open(String sentinels) {
        hosts = Stream.of(sentinels.split(",")).distinct().count();
        LockStore store = closing(
                new RedisLockStoreProvider().open("redis-sentinel://" + sentinels + "/" + RedisSentinels.NAME, clock));
        granted(store, alice.mutex(name));
        return store;
    }

    private boolean isAtThePrimary(LockStore store) {
        return repaired(() -> get(store.inspect(name))).isPresent();
    }

    // One answer is enough. But a busy machine may let a question fail, and while the clock stands still there is no
    // other one.
    private void leavesThePrimary(LockStore store) {
        for (int asked = 0; asked < MOST_QUESTIONS && isAtThePrimary(store); asked++) {
            ask();
        }
        assertThat(isAtThePrimary(store)).isFalse();
    }

    /** Returns when the new Sentinel has answered at the door. */
    private void doorLeadsTo(RedisServer newSentinel) {
        door.leadTo(newSentinel);
        door.reset();
        awaitUntil(() -> {
            clock.advance(ASK_EVERY);
            return requests() > 0;
        });
        awaitUntil(this::allWait);
    }

    /** Returns when the Sentinel at the door has answered once more. */
    private void ask() {
        int before = requests();
        clock.advance(ASK_EVERY);
        awaitUntil(() -> requests() > before && allWait());
    }

    /** Whether no question is under way: there is a thread for each host. */
    private boolean allWait() {
        return clock.parkedThreads() >= hosts;
    }

    private int requests() {
        return door.counts().getOrDefault("SENTINEL", 0);
    }
}
