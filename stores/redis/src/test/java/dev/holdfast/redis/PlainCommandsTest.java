package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.model.ModelTime;
import dev.holdfast.testkit.model.StoreModelRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;

/** Which commands the plain layout sends to which server, and that the laws hold with each of them. */
class PlainCommandsTest extends WithDouble {

    private static final int MODEL_OPERATIONS = 2_000;

    @ParameterizedTest
    @EnumSource(Family.class)
    void acquireRenewAndReleaseAreOneRequestEach(Family family) {
        LockStore store = openPlain(family);
        commands.reset();
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(commands.counts()).isEqualTo(Map.of("EVALSHA", 1));
        commands.reset();
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(commands.counts()).isEqualTo(Map.of(family.renews, 1));
        commands.reset();
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
        assertThat(commands.counts()).isEqualTo(Map.of(family.releases, 1));
        assertThat(text(name)).isEqualTo("null");
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void aThousandRenewalsAreOneFlush(Family family) {
        LockStore store = openPlain(family);
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, claims.get(i));
        }
        commands.reset();
        assertThat(get(store.renew(claims))).hasSize(1_000).allMatch(Granted.class::isInstance);
        assertThat(commands.counts()).isEqualTo(Map.of(family.renews, family.renews.equals("EVALSHA") ? 4 : 1_000));
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void renewalTakesTheBetterOfBothEnds(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name).withLease(Duration.ofSeconds(20));
        long counter = granted(store, claim).counter();
        assertLeft(renewed(store, claim), counter, 20);
        assertLeft(renewed(store, claim.withLease(Duration.ofSeconds(60))), counter, 60);
        // A command would shorten it to 20 s, so a script must do this renewal.
        assertLeft(renewed(store, claim), counter, 60);
        assertLeft(renewed(store, claim), counter, 60);
        assertThat(left(name)).isBetween(50_000L, 60_000L);
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void shorterLeaseIsRenewedByCommandsOnceTheLongerOneIsOver(Family family) {
        LockStore store = openPlain(family);
        Duration lease = Duration.ofMinutes(1);
        Claim claim = alice.mutex(name).withLease(lease);
        granted(store, claim);
        Claim shorter = claim.withLease(lease.minusMillis(100));
        assertThat(renewed(store, shorter)).isInstanceOf(Granted.class);
        awaitUntil(() -> left(name) <= shorter.lease().toMillis());
        assertThat(renewed(store, shorter)).isInstanceOf(Granted.class);
        commands.reset();
        assertThat(renewed(store, shorter)).isInstanceOf(Granted.class);
        assertThat(commands.counts()).isEqualTo(Map.of(family.renews, 1));
        assertThat(left(name)).isBetween(1L, shorter.lease().toMillis());
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void changedOwnerIsWritten(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        OwnerInfo other = new OwnerInfo("alice", "host", 7, "thread", "a \"label\"\n", List.of("held"));
        Claim renamed = new Claim(name, claim.id(), 1, 1, LONG, other);
        for (int i = 0; i < 2; i++) {
            assertThat(renewed(store, renamed)).isInstanceOf(Granted.class);
            assertThat(get(store.inspect(name))
                            .orElseThrow()
                            .holders()
                            .get(0)
                            .claim()
                            .owner())
                    .isEqualTo(other);
        }
        commands.reset();
        assertThat(renewed(store, renamed)).isInstanceOf(Granted.class);
        assertThat(get(store.release(renamed)).wasOwner()).isTrue();
        Map<String, Integer> expected = new HashMap<>();
        expected.merge(family.renews, 1, Integer::sum);
        expected.merge(family.releases, 1, Integer::sum);
        assertThat(commands.counts()).isEqualTo(expected);
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void whatIsNotTheirsIsNotTouched(Family family) {
        LockStore store = openPlain(family);
        LockStore other = openUrl("redis://" + commands.address() + "?layout=plain");
        Claim stale = alice.mutex(name).withLease(Duration.ofMillis(150));
        granted(store, stale);
        awaitUntil(() -> get(store.inspect(name)).isEmpty());
        Claim next = bob.mutex(name);
        granted(other, next);
        String before = text(name);
        assertThat(renewed(store, stale)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
        assertThat(get(store.release(stale)).wasOwner()).isFalse();
        assertThat(text(name)).isEqualTo(before);
        assertThat(get(store.tryAcquire(stale))).as("a late copy").isInstanceOf(Attempt.Busy.class);
        assertThat(get(other.release(next)).wasOwner()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void repeatedClaimsLeaveATombstone(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name);
        long counter = granted(store, claim).counter();
        assertThat(granted(store, claim.again()).counter()).isEqualTo(counter);
        assertThat(get(store.release(claim.again())).wasOwner()).isTrue();
        assertThat(get(store.tryAcquire(claim))).isInstanceOf(Attempt.Busy.class);
        assertThat(renewed(store, claim)).isEqualTo(new Renewed.Gone(Renewed.Reason.RELEASED));
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @Test
    void behavesLikeTheModelWithTheCommandsOfRedis() {
        LockStore store = openPlain(Family.REDIS_8_4);
        long seed = Long.getLong(StoreModelRun.SEED, Seeds.of("model of plain commands"));
        System.out.println(
                StoreModelRun.run(slowness -> store, ModelTime.real(), true, name + "-", MODEL_OPERATIONS, seed));
    }

    @Test
    void withoutSuchCommandsAPairIsEightCommandsInTwoScripts() {
        LockStore store = openPlain(Family.REDIS_7);
        Claim warm = alice.mutex(name);
        granted(store, warm);
        get(store.release(warm));
        try (Jedis jedis = server.connect()) {
            jedis.configResetStat();
            Claim claim = alice.mutex(name);
            granted(store, claim);
            get(store.release(claim));
            Map<String, Long> calls = new HashMap<>(RedisServer.calls(jedis));
            calls.keySet().removeIf(command -> command.startsWith("config") || command.equals("info"));
            assertThat(calls)
                    .containsExactlyInAnyOrderEntriesOf(Map.of(
                            "evalsha", 2L, "hmget", 1L, "time", 1L, "set", 1L, "hset", 1L, "get", 1L, "del", 1L));
        }
    }

    @Test
    void tairCommandsComeFirstOnTair() {
        commands.supportOnly(CommandDouble.CommandGroup.values());
        assertThat(openUrl("tair://" + commands.address())).asString().contains("CAD and CAS");
        assertThat(openUrl("redis://" + commands.address() + "?layout=plain"))
                .asString()
                .contains("DELEX and SET_IFEQ");
    }

    @Test
    void tairKeepsItsEnd() {
        commands.supportOnly(Family.TAIR.groups());
        LockStore store = openUrl("tair://" + commands.address());
        Claim claim = alice.mutex(name);
        granted(store, claim);
        for (int i = 0; i < 3; i++) {
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
            assertThat(left(name)).isBetween(1L, LONG.toMillis());
        }
    }

    @Test
    void everyKindOfTheApiWorksOnTair() throws InterruptedException {
        commands.supportOnly(Family.TAIR.groups());
        try (Holdfast locks = Holdfast.connect("tair://" + commands.address());
                Holdfast others = Holdfast.connect("tair://" + commands.address() + "?layout=tair")) {
            locks.lock("a").lock();
            locks.lock("a").lock();
            assertThat(others.lock("a").tryLock()).isFalse();
            locks.lock("a").unlock();
            assertThat(others.lock("a").tryLock()).as("held once more").isFalse();
            locks.lock("a").unlock();
            assertThat(others.lock("a").tryLock()).isTrue();
            others.lock("a").unlock();
            locks.readWriteLock("b").readLock().lock();
            assertThat(others.readWriteLock("b").readLock().tryLock()).isTrue();
            assertThat(others.readWriteLock("b").writeLock().tryLock()).isFalse();
            others.readWriteLock("b").readLock().unlock();
            locks.readWriteLock("b").readLock().unlock();
            assertThat(others.readWriteLock("b").writeLock().tryLock()).isTrue();
            others.readWriteLock("b").writeLock().unlock();
        }
        try (Jedis jedis = server.connect()) {
            assertThat(jedis.keys("*")).allMatch(key -> key.startsWith(Layout.PLAIN_RECORDS));
        }
    }

    private static void assertLeft(Renewed renewed, long counter, int seconds) {
        assertThat(renewed).isInstanceOfSatisfying(Granted.class, held -> {
            assertThat(held.counter()).isEqualTo(counter);
            assertThat(held.lease()).isBetween(Duration.ofSeconds(seconds - 10), Duration.ofSeconds(seconds));
        });
    }
}
