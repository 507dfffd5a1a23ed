package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.CommandDouble.CommandGroup;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;

/** The plain layout when replies are lost, requests come late, and the server is replaced by another one. */
class PlainFaultTest extends WithDouble {

    @ParameterizedTest
    @EnumSource(Family.class)
    void lostRepliesAreUnknownAndRepairedByRepeating(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name);
        commands.loseReplyTo("EVALSHA");
        assertUnknown(store.tryAcquire(claim));
        long counter = granted(store, claim.again()).counter();
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        commands.loseReplyTo(family.renews);
        assertUnknown(store.renew(List.of(claim)));
        assertThat(renewed(store, claim))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        commands.loseReplyTo(family.releases);
        assertUnknown(store.release(claim));
        assertThat(get(store.release(claim.again())).wasOwner())
                .as("the lost one was done")
                .isFalse();
        assertThat(get(store.tryAcquire(claim))).as("a late copy").isInstanceOf(Attempt.Busy.class);
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @ParameterizedTest
    @EnumSource(
            value = Family.class,
            names = {"REDIS_8_4", "TAIR"})
    void renewalThatComesLateDoesNotShortenALongerLease(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name).withLease(Duration.ofMinutes(1));
        granted(store, claim);
        commands.keepBack(family.renews);
        assertUnknown(store.renew(List.of(claim)));
        assertThat(renewed(store, claim.withLease(LONG))).isInstanceOf(Granted.class);
        commands.deliver();
        assertThat(left(name)).isGreaterThan(LONG.minusSeconds(60).toMillis());
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        commands.deliver();
        assertThat(left(name)).isGreaterThan(LONG.minusSeconds(60).toMillis());
    }

    @ParameterizedTest
    @EnumSource(
            value = Family.class,
            names = {"REDIS_8_4", "VALKEY_9", "TAIR"})
    void releaseAndRenewalThatComeLateDoNotTouchTheNextGrant(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        commands.keepBack(family.renews);
        assertUnknown(store.renew(List.of(claim)));
        commands.keepBack(family.releases);
        assertUnknown(store.release(claim));
        assertThat(get(store.release(claim.again())).wasOwner()).isTrue();
        commands.deliver();
        assertThat(text(name)).as("a late renewal revives nothing").isEqualTo("null");
        Claim next = bob.mutex(name).withLease(Duration.ofSeconds(20));
        granted(store, next);
        commands.deliver();
        assertThat(left(name)).isBetween(1L, 20_000L);
        assertThat(renewed(store, next)).isInstanceOf(Granted.class);
    }

    @Test
    void acquireThatComesAfterItsReleaseIsRefused() {
        LockStore store = openPlain(Family.REDIS_8_4);
        Claim claim = alice.mutex(name);
        commands.keepBack("EVALSHA");
        assertUnknown(store.tryAcquire(claim));
        assertThat(get(store.release(claim.again())).wasOwner()).isFalse();
        commands.deliver();
        assertThat(text(name)).isEqualTo("null");
        granted(store, bob.mutex(name));
    }

    @Test
    void serverThatLosesItsCommandsIsServedByScriptsAndTriedAgain() {
        LockStore store = openPlain(Family.REDIS_8_4);
        List<Claim> held = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            held.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, held.get(i));
        }
        commands.supportOnly();
        assertThat(get(store.renew(held))).allMatch(Granted.class::isInstance);
        assertThat(store.toString()).contains("script and script");
        assertThat(get(store.renew(held))).as("and looks anew").allMatch(Granted.class::isInstance);
        commands.reset();
        assertThat(get(store.renew(held))).allMatch(Granted.class::isInstance);
        assertThat(get(store.release(held.get(0))).wasOwner()).isTrue();
        assertThat(commands.counts()).isEqualTo(Map.of("EVALSHA", 2));
    }

    @Test
    void commandsOfTheNextServerAreFoundAfterAFailOver() {
        LockStore store = openPlain(Family.REDIS_8_4);
        Claim first = alice.mutex(name);
        granted(store, first);
        commands.supportOnly(CommandGroup.CAS_CAD);
        assertThat(get(store.release(first)).wasOwner()).isTrue();
        assertThat(store.toString()).contains("script and script");
        Claim second = alice.mutex(name);
        granted(store, second);
        assertThat(store.toString()).contains("CAD and CAS");
        commands.reset();
        assertThat(renewed(store, second)).isInstanceOf(Granted.class);
        assertThat(get(store.release(second)).wasOwner()).isTrue();
        assertThat(commands.counts()).isEqualTo(Map.of("CAS", 1, "CAD", 1));
    }

    @Test
    void scriptFlushInFlightLosesNothing() throws InterruptedException {
        nothingIsLostWhileScriptsAreFlushed(openPlain(Family.REDIS_7), 300, 1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Family.class,
            names = {"REDIS_8_4", "TAIR", "REDIS_7"})
    void serverOutOfMemoryStillRenewsAndReleases(Family family) {
        LockStore store = openPlain(family);
        Claim holder = alice.mutex(name).withLease(Duration.ofSeconds(20));
        granted(store, holder);
        try (Jedis jedis = server.connect()) {
            jedis.configSet("maxmemory", "1");
            jedis.configSet("maxmemory-policy", "noeviction");
            StoreException failure = failure(store.tryAcquire(alice.mutex(new LockName("new"))));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
            assertThat(failure).hasMessageContaining("maxmemory");
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
            assertThat(renewed(store, holder.withLease(LONG))).isInstanceOf(Granted.class);
            assertThat(left(name)).isGreaterThan(LONG.minusSeconds(60).toMillis());
            assertThat(get(store.release(holder)).wasOwner()).isTrue();
        }
    }

    @Test
    void replicaAndDownServerAreReported() {
        LockStore store = openPlain(Family.REDIS_8_4);
        Claim holder = alice.mutex(name);
        granted(store, holder);
        try (Jedis jedis = server.connect()) {
            jedis.replicaof("127.0.0.1", 1);
            assertThat(failure(store.tryAcquire(bob.mutex(new LockName("new")))))
                    .hasMessageContaining("replica");
            assertThat(failure(store.renew(List.of(holder)))).hasMessageContaining("replica");
            assertThat(failure(store.release(holder)).effect()).isEqualTo(Effect.NONE);
            jedis.replicaofNoOne();
        }
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        server.kill();
        StoreException failure = failure(store.renew(List.of(holder)));
        assertThat(failure.retryable()).isTrue();
        assertThat(failure(store.release(holder.again())).retryable()).isTrue();
        server.startAgain();
    }

    @Test
    void tokensGrowThroughTheLossOfTheRecordAndOfAllData() {
        LockStore store = openPlain(Family.REDIS_8_4);
        Claim claim = alice.mutex(name);
        long first = granted(store, claim).counter();
        try (Jedis jedis = server.connect()) {
            String record = Layout.PLAIN_RECORDS + "{" + key(name) + "}";
            assertThat(jedis.hget(record, "counter")).isEqualTo(Long.toString(first));
            jedis.del(record);
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
            assertThat(renewed(store, claim.withLease(LONG.plusSeconds(1)))).isInstanceOf(Granted.class);
            assertThat(jedis.hget(record, "counter")).as("found in the string").isEqualTo(Long.toString(first));
            get(store.release(claim.again()));
            long second = granted(store, bob.mutex(name)).counter();
            assertThat(second).isGreaterThan(first);
            jedis.flushAll();
            assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(second);
        }
    }

    @Test
    void idleRecordsGo() {
        LockStore store = openUrl(server.url() + "?layout=mixed&ticketTtl=100ms&keep=1s");
        for (int i = 0; i < 500; i++) {
            LockName other = new LockName(name + "-" + i);
            Claim claim = (i % 4 == 3 ? alice.read(other) : alice.mutex(other)).withLease(Duration.ofMillis(100));
            granted(store, claim);
            if (i % 4 == 0) {
                get(store.release(claim));
            } else if (i % 4 == 1) {
                get(store.release(claim.again()));
            }
        }
        try (Jedis jedis = server.connect()) {
            for (String key : jedis.keys("*")) {
                assertThat(jedis.pttl(key)).as(key).isNotEqualTo(-1L).isLessThanOrEqualTo(3_000L);
            }
            pause(2_600);
            assertThat(jedis.keys("*")).isEmpty();
        }
    }

    @Test
    void userNeedsOnlyWhatTheDocumentationSays() {
        try (Jedis jedis = server.connect()) {
            jedis.aclSetUser(
                    "app",
                    "on",
                    ">secret",
                    "~lock:*",
                    "~holdfast:plain:*",
                    "-@all",
                    "+@connection",
                    "+@scripting",
                    "+@hash",
                    "+get",
                    "+set",
                    "+time",
                    "+del",
                    "+type",
                    "+pexpire",
                    "+pttl",
                    "+scan");
        }
        LockStore store = openUrl("redis://app:secret@127.0.0.1:" + server.port() + "?layout=mixed&prefix=lock:");
        Claim claim = alice.mutex(name);
        granted(store, claim);
        assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        assertThat(get(store.list("", 10))).containsExactly(name);
        assertThat(get(store.inspect(name))).isPresent();
        assertThat(get(store.release(claim.again())).wasOwner()).isTrue();
        Claim reader = alice.read(name);
        granted(store, reader);
        assertThat(renewed(store, reader)).isInstanceOf(Granted.class);
        assertThat(get(store.list("", 10))).containsExactly(name);
        assertThat(get(store.release(reader)).wasOwner()).isTrue();
    }

    // If a renewal is the only one in its flush, the whole call fails.
    private static void assertUnknown(CompletionStage<?> call) {
        StoreException failure = failure(call);
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure.retryable()).isTrue();
    }
}
