package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** The layout of Redisson's locks: what is sent, and what becomes of it when replies are lost and requests come late. */
class RedissonFaultTest extends WithDouble {

    private static final String OPTIONS = "?layout=redisson";

    private final Jedis jedis = closing(server.connect());
    private final String key = name.value();
    private final String record = Layout.PLAIN_RECORDS + "{" + key + "}";

    @Test
    void acquireRenewalAndReleaseAreOneRequestEach() {
        LockStore store = open(OPTIONS);
        assertThat(oneRequest(store, alice.mutex(name)))
                .as("the server knows the scripts")
                .hasSize(3);
        List<Map<String, Long>> calls = oneRequest(store, alice.mutex(name));
        assertThat(calls.get(0))
                .containsExactlyInAnyOrderEntriesOf(
                        Map.of("evalsha", 1L, "hmget", 1L, "time", 1L, "exists", 1L, "hset", 3L, "pexpire", 1L));
        assertThat(calls.get(1))
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "evalsha", 1L, "time", 1L, "hdel", 1L, "hlen", 1L, "hexists", 1L, "hmget", 1L, "pexpire", 1L));
        assertThat(calls.get(2))
                .containsExactlyInAnyOrderEntriesOf(Map.of("evalsha", 1L, "hexists", 1L, "hdel", 1L, "publish", 1L));
    }

    // The commands of the three requests, by the server's own counters.
    private List<Map<String, Long>> oneRequest(LockStore store, Claim claim) {
        jedis.configResetStat();
        granted(store, claim);
        Map<String, Long> acquire = calls();
        // In the same millisecond the renewal would find no later end to write.
        awaitUntil(() -> jedis.pttl(claim.name().value()) < claim.lease().toMillis());
        jedis.configResetStat();
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        Map<String, Long> renewal = calls();
        assertThat(released(store, claim)).isTrue();
        return List.of(acquire, renewal, calls());
    }

    private Map<String, Long> calls() {
        Map<String, Long> calls = RedisServer.calls(jedis);
        calls.keySet().removeIf(command -> command.startsWith("config") || command.equals("info"));
        jedis.configResetStat();
        return calls;
    }

    @Test
    void lostRepliesAreUnknownAndRepairedByRepeating() {
        LockStore store = openUrl("redis://" + commands.address() + OPTIONS);
        oneRequest(store, alice.mutex(name)); // The server knows the scripts now.
        Claim claim = alice.mutex(name);
        commands.loseReplyTo("EVALSHA");
        assertUnknown(store.tryAcquire(claim));
        long counter = granted(store, claim.again()).counter();
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        commands.loseReplyTo("EVALSHA");
        assertUnknown(store.renew(List.of(claim)));
        assertThat(renewed(store, claim))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        assertThat(released(store, bob.mutex(name))).isFalse();
        commands.loseReplyTo("EVALSHA");
        assertUnknown(store.release(claim));
        assertThat(released(store, claim.again())).as("the lost one was done").isFalse();
        assertThat(get(store.tryAcquire(claim))).as("a late copy").isInstanceOf(Attempt.Busy.class);
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @Test
    void requestsThatComeLateDoNotTouchTheNextGrant() {
        LockStore store = openUrl("redis://" + commands.address() + OPTIONS);
        oneRequest(store, alice.mutex(name));
        Claim claim = alice.mutex(name);
        commands.keepBack("EVALSHA");
        assertUnknown(store.tryAcquire(claim));
        assertThat(released(store, claim.again())).isFalse();
        commands.deliver();
        assertThat(jedis.hlen(key)).as("an acquire after its release").isZero();

        Claim held = alice.mutex(name);
        granted(store, held);
        commands.keepBack("EVALSHA");
        assertUnknown(store.renew(List.of(held)));
        commands.keepBack("EVALSHA");
        assertUnknown(store.release(held));
        assertThat(released(store, held.again())).isTrue();
        Claim next = bob.mutex(name).withLease(Duration.ofSeconds(20));
        granted(store, next);
        commands.deliver();
        assertThat(jedis.pttl(key)).isBetween(1L, 20_000L);
        assertThat(renewed(store, next)).isInstanceOf(Granted.class);
    }

    @Test
    void renewalNeverShortensAndTermsAreKept() {
        LockStore store = open(OPTIONS);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(renewed(store, claim.withLease(Duration.ofSeconds(1)))).isInstanceOf(Granted.class);
        assertThat(jedis.pttl(key)).isGreaterThan(LONG.minusSeconds(60).toMillis());
        assertThat(jedis.pttl(record)).as("the record outlives the lock").isGreaterThan(LONG.toMillis());
        assertThat(holders(store, name).get(0).lease()).isEqualTo(Duration.ofSeconds(1));
        assertThat(holders(store, name).get(0).owner()).isEqualTo(claim.owner());
    }

    @Test
    void serverOutOfMemoryStillRenewsAndReleases() {
        LockStore store = open(OPTIONS);
        Claim holder = alice.mutex(name).withLease(Duration.ofSeconds(20));
        granted(store, holder);
        jedis.configSet("maxmemory", "1");
        jedis.configSet("maxmemory-policy", "noeviction");
        StoreException failure = failure(store.tryAcquire(alice.mutex(new LockName("new"))));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure).hasMessageContaining("maxmemory");
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        assertThat(renewed(store, holder.withLease(LONG))).isInstanceOf(Granted.class);
        assertThat(jedis.pttl(key)).isGreaterThan(LONG.minusSeconds(60).toMillis());
        assertThat(released(store, holder.again())).isTrue();
    }

    @Test
    void replicaIsReported() {
        LockStore store = open(OPTIONS);
        Claim holder = alice.mutex(name);
        granted(store, holder);
        jedis.replicaof("127.0.0.1", 1);
        assertThat(failure(store.tryAcquire(bob.mutex(new LockName("new"))))).hasMessageContaining("replica");
        assertThat(failure(store.renew(List.of(holder)))).hasMessageContaining("replica");
        assertThat(failure(store.release(holder)).effect()).isEqualTo(Effect.NONE);
        jedis.replicaofNoOne();
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
    }

    /** The record has the token, and a lock without its token is none. The hash stays, so that nobody else gets it. */
    @Test
    void lossOfTheRecordIsALossAndTokensGrowThroughIt() {
        LockStore store = open(OPTIONS);
        Claim claim = alice.mutex(name);
        long first = granted(store, claim).counter();
        assertThat(jedis.hget(record, "counter")).isEqualTo(Long.toString(first));
        jedis.del(record);
        assertThat(renewed(store, claim)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
        busy(store, bob.mutex(name));
        assertThat(released(store, claim)).isTrue();
        long second = granted(store, bob.mutex(name)).counter();
        assertThat(second).isGreaterThan(first);
        jedis.flushAll();
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(second);
    }

    @Test
    void idleRecordsGo() {
        LockStore store = open(OPTIONS + "&ticketTtl=100ms&keep=1s");
        for (int i = 0; i < 300; i++) {
            Claim claim = alice.mutex(new LockName(name + "-" + i)).withLease(Duration.ofMillis(100));
            granted(store, claim);
            if (i % 3 > 0) {
                released(store, i % 3 == 1 ? claim : claim.again());
            }
        }
        for (String one : jedis.keys("*")) {
            assertThat(jedis.pttl(one)).as(one).isNotEqualTo(-1L).isLessThanOrEqualTo(3_000L);
        }
        awaitUntil(() -> jedis.keys("*").isEmpty());
    }

    @Test
    void userNeedsOnlyWhatTheDocumentationSays() {
        jedis.aclSetUser(
                "app",
                "on",
                ">secret",
                "~lock:*",
                "~holdfast:plain:*",
                "~redisson_lock_queue:*",
                "&redisson_lock__channel:*",
                "-@all",
                "+@connection",
                "+@scripting",
                "+@pubsub",
                "+@hash",
                "+exists",
                "+time",
                "+type",
                "+pexpire",
                "+pttl",
                "+scan");
        LockStore store = openUrl("redis://app:secret@127.0.0.1:" + server.port() + OPTIONS + "&prefix=lock:");
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        busy(store, bob.mutex(name));
        assertThat(get(store.list("", 10))).containsExactly(name);
        assertThat(get(store.inspect(name))).isPresent();
        AtomicInteger hints = new AtomicInteger();
        store.watch(name, hints::incrementAndGet);
        awaitUntil(() -> hints.get() == 1);
        assertThat(released(store, claim)).isTrue();
        awaitUntil(() -> hints.get() == 2);
        Claim again = alice.mutex(name);
        granted(store, again);
        assertThat(released(store, again.again())).isTrue();
        awaitUntil(() -> hints.get() == 3);
        assertThat(jedis.aclLog()).isEmpty();
    }

    private static void assertUnknown(CompletionStage<?> call) {
        StoreException failure = failure(call);
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure.retryable()).isTrue();
    }
}
