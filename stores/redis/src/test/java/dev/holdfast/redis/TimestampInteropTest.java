package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Programs that lock with SETNX and GETSET, and our locks, on the same key. */
class TimestampInteropTest extends StoreTest {

    private static final Duration LONG = Duration.ofMinutes(7);
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final String PAST = "1500000000000";

    @AutoClose
    private static RedisServer server = RedisServer.start();

    private final String key = name.value();
    private final LockStore store = open("");
    private final TimestampProgram theirs = closing(new TimestampProgram(server.url(), key, LONG));
    private final Claim ours = alice.mutex(name);

    private LockStore open(String options) {
        return closing(new RedisLockStoreProvider()
                .open(server.url() + "?layout=timestamps" + options, MonotonicClock.SYSTEM));
    }

    // ---- exclusion ----

    @Test
    void eachExcludesTheOther() {
        assertThat(theirs.tryLock()).isTrue();
        assertThat(get(store.tryAcquire(ours)))
                .isInstanceOfSatisfying(
                        Attempt.Busy.class,
                        busy -> assertThat(busy.retryAfter()).isBetween(LONG.dividedBy(2), LONG.plusSeconds(1)));
        theirs.unlock();
        granted(store, ours);
        assertThat(theirs.tryLock()).isFalse();
        assertThat(renewed(store, ours)).isInstanceOf(Granted.class);
        assertThat(released(store, ours)).isTrue();
        assertThat(theirs.tryLock()).isTrue();
    }

    @Test
    void theirLockThatIsPastIsTakenOver() {
        put(PAST);
        long counter = granted(store, ours).counter();
        assertThat(theirs.tryLock()).isFalse();
        released(store, ours);
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @Test
    void ourLockThatIsPastIsTakenOver() {
        granted(store, new Claimant("alice", SHORT).mutex(name));
        awaitUntil(theirs::tryLock);
        busy(store, bob.mutex(name));
    }

    @Test
    void stampThatIsPastIsTakenOverByThemAndLost() {
        Claim claim = new Claimant("alice", SHORT).mutex(name);
        granted(store, claim);
        awaitUntil(theirs::tryLock);
        assertThat(gone(store, claim)).isEqualTo(Reason.TAKEN);
        assertThat(released(store, claim)).isFalse();
        assertThat(theirs.tryLock()).as("theirs is still there").isFalse();
    }

    // ---- a clock that is wrong ----

    @Test
    void takeOverByAClockThatIsAheadIsNoticed() {
        Duration lease = Duration.ofSeconds(1);
        Claim claim = new Claimant("alice", lease).mutex(name);
        granted(store, claim);
        theirs.setAhead(lease.dividedBy(2).minusMillis(50));
        awaitUntil(theirs::tryLock);
        assertThat(gone(store, claim)).isEqualTo(Reason.TAKEN);
        assertThat(released(store, claim.again())).isFalse();
        busy(store, bob.mutex(name));
    }

    /** By the key alone it is free. */
    @Test
    void ourLockIsListedWhateverIsInItsKey() {
        granted(store, ours);
        assertThat(get(store.list(key, 10))).containsExactly(name);
        put(PAST);
        assertThat(get(store.inspect(name))).isPresent();
        assertThat(get(store.list(key, 10))).containsExactly(name);
        server.ask(jedis -> jedis.del(key));
        assertThat(get(store.list(key, 10))).containsExactly(name);
        released(store, ours.again());
        assertThat(get(store.list(key, 10))).isEmpty();
    }

    // ---- what they overwrite and delete ----

    @Test
    void stampOfALoserIsReplacedByTheNextRenewal() {
        put(PAST);
        assertThat(theirs.readsOneThatIsPast()).isTrue();
        long counter = granted(store, ours).counter();
        String stamp = stamp();
        assertThat(theirs.takesOver()).isFalse();
        assertThat(stamp()).isNotEqualTo(stamp);
        busy(store, bob.mutex(name));
        assertThat(get(store.tryAcquire(ours.again()))).isInstanceOf(Granted.class);
        assertThat(renewed(store, ours))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        assertThat(Long.parseLong(stamp())).isCloseTo(Long.parseLong(stamp), within(60_000L));
        assertThat(released(store, ours)).isTrue();
        assertThat(stamp()).isNull();
    }

    @Test
    void stampOfALoserThatIsPastDoesNotFreeTheLockForOthersOfOurs() {
        granted(store, ours);
        put(PAST);
        busy(store, bob.mutex(name));
        assertThat(renewed(store, ours)).isInstanceOf(Granted.class);
        assertThat(theirs.tryLock()).isFalse();
    }

    /** Their bare DEL after their time is past may hit a lock of ours. */
    @Test
    void lockThatTheyHaveDeletedIsGone() {
        granted(store, ours);
        server.ask(jedis -> jedis.del(key));
        busy(store, bob.mutex(name));
        assertThat(gone(store, ours)).isEqualTo(Reason.EXPIRED);
        granted(store, bob.mutex(name));
        assertThat(released(store, ours)).isFalse();
        busy(store, alice.mutex(name));
    }

    @Test
    void releaseOfALockThatTheyHaveDeletedFreesTheName() {
        granted(store, ours);
        server.ask(jedis -> jedis.del(key));
        assertThat(released(store, ours)).isFalse();
        granted(store, bob.mutex(name));
    }

    // ---- forms ----

    @Test
    void stampsInSecondsWithAnOwner() {
        LockStore seconds = open("&stamp=seconds-owner");
        TimestampProgram program =
                closing(new TimestampProgram(server.url(), key, LONG, 1_000, time -> time + "|host-7"));
        assertThat(program.tryLock()).isTrue();
        busy(seconds, ours);
        assertThat(holders(seconds, name).get(0).owner().label()).endsWith("|host-7");
        program.unlock();
        granted(seconds, ours);
        assertThat(stamp()).matches("\\d{10}\\|" + ours.id());
        assertThat(program.tryLock()).isFalse();
        assertThat(renewed(seconds, ours)).isInstanceOf(Granted.class);
        assertThat(released(seconds, ours)).isTrue();
        assertThat(program.tryLock()).isTrue();
    }

    @Test
    void stampsInMillisecondsWithAnOwner() {
        LockStore millis = open("&stamp=millis-owner");
        TimestampProgram program = closing(new TimestampProgram(server.url(), key, LONG, 1, time -> time + "|host-7"));
        assertThat(program.tryLock()).isTrue();
        busy(millis, ours);
        assertThat(holders(millis, name).get(0).owner().label()).endsWith("|host-7");
        program.unlock();
        granted(millis, ours);
        assertThat(stamp()).matches("\\d{13}\\|" + ours.id());
        assertThat(program.tryLock()).isFalse();
        assertThat(renewed(millis, ours)).isInstanceOf(Granted.class);
        assertThat(released(millis, ours)).isTrue();
        assertThat(program.tryLock()).isTrue();
    }

    @Test
    void stampsInSecondsAreNotOverBeforeTheLease() {
        LockStore seconds = open("&stamp=seconds");
        Duration lease = Duration.ofMillis(60_500);
        long before = System.currentTimeMillis();
        granted(seconds, new Claimant("alice", lease).mutex(name));
        assertThat(holders(seconds, name)).hasSize(1);
        // It is past when a clock that counts seconds says more.
        assertThat((Long.parseLong(stamp()) + 1) * 1_000).isGreaterThanOrEqualTo(before + lease.toMillis());
    }

    /** A lease that is shorter than the unit. */
    @Test
    void repeatedAcquireReportsTheLeaseThatIsLeft() {
        LockStore seconds = open("&stamp=seconds");
        Claim claim = new Claimant("alice", Duration.ofMillis(700)).mutex(name);
        granted(seconds, claim);
        assertThat(get(seconds.tryAcquire(claim.again())))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.lease()).isBetween(Duration.ofMillis(1), claim.lease()));
    }

    @Test
    void leaseThatIsOverDeletesNoOtherStamp() {
        LockStore seconds = open("&stamp=seconds");
        Claim claim = new Claimant("alice", Duration.ofMillis(100)).mutex(name);
        granted(seconds, claim);
        awaitUntil(() ->
                holders(seconds, name).stream().noneMatch(held -> held.id().equals(claim.id())));
        String later = Long.toString(System.currentTimeMillis() / 1_000 + 60);
        put(later);
        assertThat(released(seconds, claim)).isFalse();
        assertThat(stamp()).isEqualTo(later);
    }

    @Test
    void anotherFormMayBeSetWhenTheLastLeaseIsOver() {
        Claim claim = new Claimant("alice", SHORT).mutex(name);
        granted(store, claim);
        LockStore seconds = open("&stamp=seconds");
        put(Long.toString(System.currentTimeMillis() / 1_000 - 5));
        awaitUntil(() -> get(seconds.tryAcquire(bob.mutex(name))) instanceof Granted);
    }

    /** The prefix is empty, so the key may be anything. */
    @Test
    void otherKeysDoNotHinderAStoreThatIsOpened() {
        server.ask(jedis -> jedis.set("holdfast", "the user's own"));
        granted(open(""), ours);
        server.ask(jedis -> jedis.del("holdfast"));
    }

    @Test
    void stampsOfAnotherFormAreRefused() {
        for (String text : List.of("soon", Long.toString(System.currentTimeMillis() / 1_000), "", "-5")) {
            put(text);
            StoreException failure = failure(store.tryAcquire(ours));
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isFalse();
            assertThat(failure).hasMessageContaining(key).hasMessageContaining("option stamp");
        }
        LockStore seconds = open("&stamp=seconds");
        put(Long.toString(System.currentTimeMillis()));
        assertThat(failure(seconds.tryAcquire(ours))).hasMessageContaining("option stamp");
        server.ask(jedis -> {
            jedis.del(key);
            return jedis.hset(key, "a", "b");
        });
        assertThat(failure(store.tryAcquire(ours))).hasMessageContaining(key);
    }

    // ---- operators ----

    @Test
    void theirLockIsShownListedAndBrokenAsItWasSeen() {
        assertThat(theirs.tryLock()).isTrue();
        ResourceState.Entry seen =
                get(store.inspect(name)).orElseThrow().holders().get(0);
        assertThat(seen.claim().owner().client()).isEqualTo("unknown");
        assertThat(seen.claim().owner().label()).isEqualTo(stamp());
        assertThat(seen.remaining()).isBetween(LONG.dividedBy(2), LONG.plusSeconds(1));
        assertThat(get(store.list(key, 10))).containsExactly(name);
        String stamp = stamp();
        put(Long.toString(Long.parseLong(stamp) + 1));
        assertThat(released(store, seen.claim().again()))
                .as("what was seen has changed")
                .isFalse();
        assertThat(released(store, holders(store, name).get(0).again())).isTrue();
        granted(store, ours);
    }

    @Test
    void locksThatArePastAreNotListed() {
        put(PAST);
        assertThat(get(store.list(key, 10))).isEmpty();
        assertThat(get(store.inspect(name))).isEmpty();
        granted(store, ours);
        assertThat(get(store.list(key, 10))).containsExactly(name);
        assertThat(holders(store, name).get(0).id()).isEqualTo(ours.id());
    }

    @Test
    void otherKindsAreRefusedWithTheNameOfTheLayout() {
        assertThat(failure(store.tryAcquire(alice.read(name))))
                .hasMessageContaining("layout=timestamps")
                .hasMessageContaining("a read-write lock");
        assertThat(failure(store.tryAcquire(alice.claim(name, 1, 5)))).hasMessageContaining("a semaphore of 5");
    }

    @Test
    void userNeedsOnlyWhatTheDocumentationSays() {
        server.ask(jedis -> jedis.aclSetUser(
                "app",
                "on",
                ">secret",
                "~" + key + "*",
                "~holdfast:plain:*",
                "-@all",
                "+@connection",
                "+@scripting",
                "+@hash",
                "+get",
                "+getrange",
                "+set",
                "+time",
                "+del",
                "+type",
                "+pexpire",
                "+scan"));
        LockStore limited = closing(new RedisLockStoreProvider()
                .open(
                        "redis://app:secret@127.0.0.1:" + server.port() + "?layout=timestamps&prefix=" + key,
                        MonotonicClock.SYSTEM));
        Claim claim = alice.mutex(name);
        granted(limited, claim);
        busy(limited, bob.mutex(name));
        assertThat(renewed(limited, claim)).isInstanceOf(Granted.class);
        assertThat(get(limited.list("", 10))).containsExactly(name);
        assertThat(holders(limited, name)).hasSize(1);
        assertThat(released(limited, claim.again())).isTrue();
        assertThat(released(limited, alice.mutex(name).again())).isFalse();
    }

    @Test
    void eachOperationIsOneRequest() {
        granted(store, bob.mutex(name));
        assertThat(renewed(store, bob.mutex(name))).isInstanceOf(Renewed.Gone.class);
        long before = requests();
        busy(store, ours);
        assertThat(requests() - before).isEqualTo(1);
        Claim other = alice.mutex(new LockName(key + "-2"));
        granted(store, other);
        renewed(store, other);
        released(store, other);
        assertThat(requests() - before).isEqualTo(4);
    }

    private static long requests() {
        return server.ask(jedis -> RedisServer.calls(jedis).getOrDefault("evalsha", 0L));
    }

    private static Reason gone(LockStore store, Claim claim) {
        return ((Renewed.Gone) renewed(store, claim)).reason();
    }

    private void put(String stamp) {
        server.ask(jedis -> jedis.set(key, stamp));
    }

    private String stamp() {
        return server.ask(jedis -> jedis.get(key));
    }
}
