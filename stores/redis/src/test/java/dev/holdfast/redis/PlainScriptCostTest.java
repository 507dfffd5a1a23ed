package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;

/**
 * What the scripts of the layouts of other programs do in the two cases that are met most often, renewals that change only
 * the end and attempts at a busy lock, and that other cases are told from these.
 */
class PlainScriptCostTest extends StoreTest {

    private static final long LOCKS = 300;

    private static RedisServer server;
    private static RedisServer old;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        old = RedisServer.startOld();
    }

    @AfterAll
    static void stop() {
        server.close();
        old.close();
    }

    @ParameterizedTest
    @CsvSource({
        "PLAIN, false, get 1 hmget 1 pexpire 1",
        "PLAIN, true, get 1 hmget 1 pttl 1 pexpire 1",
        "REDISSON, false, hlen 1 hexists 1 hmget 1 pexpire 1",
        "REDISSON, true, hlen 1 hexists 1 hmget 1 pttl 1 pexpire 1",
        "TIMESTAMPS, false, get 1 hmget 1 set 1 hset 1",
        "TIMESTAMPS, true, get 1 hmget 1 set 1 hset 1",
    })
    void renewalThatChangesOnlyTheEndIsFewCommands(Layout layout, boolean beforeRedis7, String commands) {
        RedisServer asked = beforeRedis7 ? old : server;
        Jedis jedis = closing(asked.connect());
        LockStore store = open(asked, layout);
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < LOCKS; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, claims.get(i));
        }
        // So that the server knows the script. A second renewal in the same millisecond would find nothing to prolong.
        assertThat(get(store.renew(claims))).allMatch(Granted.class::isInstance);
        long then = millis(jedis);
        awaitUntil(() -> millis(jedis) > then);
        jedis.configResetStat();
        assertThat(get(store.renew(claims))).hasSize(claims.size()).allMatch(Granted.class::isInstance);
        Map<String, Long> expected = times(LOCKS, commands);
        expected.putAll(Map.of("evalsha", 2L, "hdel", 2L, "time", 2L));
        assertThat(calls(jedis)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "PLAIN, evalsha 1 hmget 1 time 1 set 1 get 1 pttl 1",
        "REDISSON, evalsha 1 hmget 1 time 1 exists 1 hlen 1 hkeys 1 pttl 1",
    })
    void attemptAtABusyLockIsFewCommands(Layout layout, String commands) {
        Jedis jedis = closing(server.connect());
        LockStore store = open(server, layout);
        Claim holder = alice.mutex(name);
        granted(store, holder);
        jedis.configResetStat();
        assertThat(get(store.tryAcquire(bob.mutex(name))))
                .isInstanceOfSatisfying(
                        Attempt.Busy.class,
                        busy -> assertThat(busy.retryAfter()).isBetween(LONG.minusMinutes(1), LONG));
        assertThat(calls(jedis)).isEqualTo(times(1, commands));
        assertThat(released(store, holder)).isTrue();
    }

    private static Map<String, Long> times(long factor, String commands) {
        Map<String, Long> expected = new HashMap<>();
        String[] words = commands.split(" ");
        for (int i = 0; i < words.length; i += 2) {
            expected.put(words[i], factor * Long.parseLong(words[i + 1]));
        }
        return expected;
    }

    private static Map<String, Long> calls(Jedis jedis) {
        Map<String, Long> calls = new HashMap<>(RedisServer.calls(jedis));
        calls.keySet().removeIf(command -> command.startsWith("config") || command.equals("info"));
        return calls;
    }

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "REDISSON", "TIMESTAMPS"})
    void whatIsNotTheCommonCaseIsDoneInTheSameBatch(Layout layout) {
        for (RedisServer asked : List.of(server, old)) {
            LockStore store = open(asked, layout);
            List<Claim> claims = new ArrayList<>();
            for (String what : List.of("usual", "longer", "brief-record", "list", "gone", "last")) {
                claims.add(alice.mutex(new LockName(name + what)));
                granted(store, claims.get(claims.size() - 1));
            }
            // The third renewal changes nothing but the end, which is the later one already.
            Claim longer = claims.get(1);
            assertThat(renewed(store, longer.withLease(LONG.multipliedBy(2)))).isInstanceOf(Granted.class);
            assertThat(renewed(store, longer)).isInstanceOf(Granted.class);
            asked.ask(jedis -> {
                jedis.hset(record(claims.get(2), layout), "kept", "1");
                jedis.del(lock(claims.get(3), layout));
                jedis.rpush(lock(claims.get(3), layout), "of another program");
                return jedis.del(lock(claims.get(4), layout), record(claims.get(4), layout));
            });
            List<Renewed> answers = get(store.renew(claims));
            for (int i : List.of(0, 1, 2, 5)) {
                Duration lease = i == 1 ? LONG.multipliedBy(2) : LONG;
                assertThat(answers.get(i))
                        .isInstanceOfSatisfying(
                                Granted.class,
                                held -> assertThat(held.lease()).isBetween(lease.minusMinutes(1), lease));
                assertThat(get(store.inspect(claims.get(i).name()))
                                .orElseThrow()
                                .holders()
                                .get(0)
                                .remaining())
                        .isBetween(lease.minusMinutes(1), lease);
            }
            assertThat(answers.get(3)).isInstanceOf(Renewed.Failed.class);
            assertThat(answers.get(4)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
            assertThat(Long.parseLong(asked.ask(jedis -> jedis.hget(record(claims.get(2), layout), "kept"))))
                    .as("until when the record lives in any case")
                    .isGreaterThan(System.currentTimeMillis() * 1_000);
        }
    }

    /** The record, changed by hand, has no time stamp either, and is not ours to read. */
    @Test
    void lockWithoutTimeStampIsNotRevived() {
        LockStore store = open(server, Layout.TIMESTAMPS);
        Claim deleted = alice.mutex(name);
        granted(store, deleted);
        String key = lock(deleted, Layout.TIMESTAMPS);
        server.ask(jedis -> {
            jedis.hdel(record(deleted, Layout.TIMESTAMPS), "stamp");
            return jedis.del(key);
        });
        assertThat(renewed(store, deleted)).isInstanceOf(Renewed.Failed.class);
        boolean exists = server.ask(jedis -> jedis.exists(key));
        assertThat(exists).isFalse();
    }

    private static long millis(Jedis jedis) {
        List<String> time = jedis.time();
        return Long.parseLong(time.get(0)) * 1_000 + Long.parseLong(time.get(1)) / 1_000;
    }

    private LockStore open(RedisServer asked, Layout layout) {
        return closing(new RedisLockStoreProvider().open(asked.url() + "?layout=" + layout, MonotonicClock.SYSTEM));
    }

    private static String lock(Claim claim, Layout layout) {
        return (layout == Layout.PLAIN ? "holdfast:" : "") + claim.name();
    }

    private static String record(Claim claim, Layout layout) {
        return Layout.PLAIN_RECORDS + "{" + lock(claim, layout) + "}";
    }
}
