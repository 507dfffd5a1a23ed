package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.HistoryChecker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/** Locks of programs without Holdfast, and locks of Holdfast, on the same key. */
class PlainInteropTest extends WithDouble {

    private static final String COMPARE_AND_DELETE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";
    private static final int ROUNDS = 40;
    private static final int THREADS_OF_EACH = 3;

    @ParameterizedTest
    @EnumSource(
            value = Family.class,
            names = {"REDIS_8_4", "TAIR", "REDIS_7"})
    void homeGrownLocksAndOursExcludeEachOther(Family family) throws InterruptedException {
        LockStore store = openPlain(family);
        HistoryChecker history = new HistoryChecker(1);
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS_OF_EACH; i++) {
            threads.add(new Thread(() -> {
                try (Jedis jedis = server.connect()) {
                    for (int round = 0; round < ROUNDS; round++) {
                        homeGrownRound(jedis, history);
                    }
                }
            }));
            Claimant client = new Claimant("t" + i, LONG);
            threads.add(new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    ourRound(store, client, history);
                }
            }));
        }
        threads.forEach(thread -> thread.setUncaughtExceptionHandler((where, failure) -> failures.add(failure)));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
        assertThat(history.size()).isEqualTo(2 * THREADS_OF_EACH * ROUNDS);
        history.check();
        assertThat(text(name)).isEqualTo("null");
    }

    private void homeGrownRound(Jedis jedis, HistoryChecker history) {
        String token = UUID.randomUUID().toString();
        long asked = System.nanoTime();
        while (jedis.set(key(name), token, SetParams.setParams().nx().px(60_000)) == null) {
            pause(1);
        }
        // Such a lock has no fencing token; the server's time is in the range of the tokens.
        List<String> time = jedis.time();
        long micros = Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
        HistoryChecker.OpenHold hold = history.acquired(token, 1, micros, asked, HistoryChecker.NEVER_QUEUED);
        hold.ending();
        assertThat(jedis.eval(COMPARE_AND_DELETE, List.of(key(name)), List.of(token)))
                .isEqualTo(1L);
    }

    private void ourRound(LockStore store, Claimant client, HistoryChecker history) {
        long asked = System.nanoTime();
        Claim claim = client.mutex(name);
        Attempt attempt = get(store.tryAcquire(claim));
        while (!(attempt instanceof Granted)) {
            pause(1);
            attempt = get(store.tryAcquire(claim));
        }
        long counter = ((Granted) attempt).counter();
        HistoryChecker.OpenHold hold =
                history.acquired(claim.id().toString(), 1, counter, asked, HistoryChecker.NEVER_QUEUED);
        if (claim.id().sequence() % 3 == 0) {
            hold.renewed(((Granted) renewed(store, claim)).counter());
        }
        hold.ending();
        assertThat(get(store.release(claim)).wasOwner()).isTrue();
    }

    @Test
    void homeGrownLockIsShownListedAndBrokenAsItWasSeen() {
        LockStore store = openPlain(Family.REDIS_7);
        try (Jedis jedis = server.connect()) {
            jedis.set(key(name), "worker-7", SetParams.setParams().nx().px(50_000));
            assertThat(get(store.tryAcquire(alice.mutex(name))))
                    .isInstanceOfSatisfying(
                            Attempt.Busy.class,
                            busy -> assertThat(busy.retryAfter())
                                    .isBetween(Duration.ofSeconds(30), Duration.ofSeconds(50)));
            assertThat(get(store.list(name.value(), 10))).containsExactly(name);
            ResourceState.Entry seen = holder(store);
            assertThat(seen.claim().owner().client()).isEqualTo("unknown");
            assertThat(seen.claim().owner().label()).isEqualTo("worker-7");
            assertThat(seen.remaining()).isBetween(Duration.ofSeconds(30), Duration.ofSeconds(50));
            jedis.del(key(name));
            jedis.set(key(name), "worker-8", SetParams.setParams().nx().px(50_000));
            assertThat(get(store.release(seen.claim().again())).wasOwner())
                    .as("what was seen is over")
                    .isFalse();
            assertThat(jedis.get(key(name))).isEqualTo("worker-8");
            assertThat(get(store.release(holder(store).claim().again())).wasOwner())
                    .isTrue();
            assertThat(jedis.get(key(name))).isNull();
        }
        granted(store, bob.mutex(name));
    }

    @Test
    void homeGrownLockWithoutAnEndIsBusyUntilAnOperatorBreaksIt() {
        LockStore store = openPlain(Family.REDIS_7);
        try (Jedis jedis = server.connect()) {
            jedis.setnx(key(name), "dead since Tuesday");
        }
        assertThat(get(store.tryAcquire(alice.mutex(name)))).isEqualTo(new Attempt.Busy(Duration.ZERO));
        ResourceState.Entry seen = holder(store);
        assertThat(seen.claim().owner().label()).isEqualTo("dead since Tuesday (has no end)");
        assertThat(seen.remaining()).isGreaterThan(Duration.ofDays(10_000));
        assertThat(get(store.release(seen.claim().again())).wasOwner()).isTrue();
        granted(store, bob.mutex(name));
    }

    @Test
    void homeGrownClientsCannotTakeOrDeleteOurs() {
        LockStore store = openPlain(Family.REDIS_8_4);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        try (Jedis jedis = server.connect()) {
            assertThat(jedis.set(key(name), "mine", SetParams.setParams().nx().px(50_000)))
                    .isNull();
            assertThat(jedis.eval(COMPARE_AND_DELETE, List.of(key(name)), List.of("mine")))
                    .isEqualTo(0L);
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
            get(store.release(claim));
            assertThat(jedis.set(key(name), "mine", SetParams.setParams().nx().px(50_000)))
                    .isEqualTo("OK");
        }
    }

    @ParameterizedTest
    @EnumSource(Family.class)
    void lockThatABareDeleteTookAwayIsGoneAndItsNextHolderIsNotTouched(Family family) {
        LockStore store = openPlain(family);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        try (Jedis jedis = server.connect()) {
            jedis.del(key(name));
            assertThat(renewed(store, claim)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
            granted(store, claim.again());
            jedis.del(key(name));
            jedis.set(key(name), "thief", SetParams.setParams().nx().px(50_000));
            assertThat(renewed(store, claim)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
            assertThat(get(store.release(claim)).wasOwner()).isFalse();
            assertThat(jedis.get(key(name))).isEqualTo("thief");
        }
    }

    /**
     * The older scheme: {@code SETNX} of the time at which the lock expires, and a client that finds that time in
     * the past takes the lock over with {@code GETSET} if this returns the value that the client has just read. Its
     * keys have no expiry.
     */
    @Test
    void olderSchemeOfTimeStampsExcludesOursButMayTakeOursOver() {
        LockStore store = openPlain(Family.REDIS_7);
        try (Jedis jedis = server.connect()) {
            jedis.setnx(key(name), Long.toString(System.currentTimeMillis() - 1_000));
            assertThat(get(store.tryAcquire(alice.mutex(name))))
                    .as(
                            "a dead holder of that scheme shuts us out for ever: only that scheme, or an operator, takes over")
                    .isEqualTo(new Attempt.Busy(Duration.ZERO));
            jedis.del(key(name));

            Claim claim = alice.mutex(name);
            granted(store, claim);
            assertThat(jedis.setnx(key(name), "1")).as("ours shuts them out").isZero();
            String found = jedis.get(key(name));
            assertThat(found).as("nothing that can be read as a time").startsWith("holdfast1 ");
            // A client that reads a text as a time in the past steals the lock. We cannot prevent that.
            assertThat(jedis.getSet(key(name), "9999999999999")).isEqualTo(found);
            assertThat(renewed(store, claim))
                    .as("but we learn of it")
                    .isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
            assertThat(get(store.release(claim)).wasOwner()).isFalse();
            assertThat(jedis.get(key(name))).isEqualTo("9999999999999");
        }
    }

    @Test
    void keysCanBeNamedAsTheOthersNameThem() {
        LockStore store = openUrl(server.url() + "?layout=plain&prefix=");
        for (String key : List.of("lock:order:42", "{order}:lock", "a}b")) {
            granted(store, alice.mutex(new LockName(key)));
            try (Jedis jedis = server.connect()) {
                assertThat(jedis.get(key)).startsWith("holdfast1 ");
                jedis.hset("no lock", "a", "b");
                jedis.set("not\na name", "x");
            }
        }
        assertThat(get(store.list("", 100)))
                .extracting(LockName::value)
                .containsExactly("a}b", "lock:order:42", "{order}:lock");
    }

    @ParameterizedTest
    @EnumSource(
            value = Family.class,
            names = {"REDIS_8_4", "TAIR", "REDIS_7"})
    void keyOfAnotherTypeIsRefused(Family family) {
        LockStore store = openPlain(family);
        Claim neighbour = alice.mutex(new LockName(name + "-neighbour"));
        granted(store, neighbour);
        Claim claim = alice.mutex(name);
        granted(store, claim);
        try (Jedis jedis = server.connect()) {
            jedis.del(key(name));
            jedis.lpush(key(name), "a list");
            for (StoreException failure : List.of(
                    failure(store.tryAcquire(bob.mutex(name))),
                    failure(store.inspect(name)),
                    failure(store.release(bob.mutex(name))))) {
                assertThat(failure.effect()).isEqualTo(Effect.NONE);
                assertThat(failure.retryable()).isFalse();
                assertThat(failure).hasMessageContaining("another type").hasMessageContaining(name.value());
            }
            List<Renewed> answers = get(store.renew(List.of(claim, neighbour)));
            assertThat(answers.get(0)).isInstanceOf(Renewed.Failed.class);
            assertThat(answers.get(1)).isInstanceOf(Granted.class);
            assertThat(jedis.lrange(key(name), 0, 9)).containsExactly("a list");
            assertThat(get(store.list(name.value(), 10))).containsExactly(neighbour.name());
        }
    }

    @Test
    void otherKindsAreRefusedWithTheNameOfTheLayout() {
        LockStore store = openPlain(Family.REDIS_7);
        assertThat(failure(store.tryAcquire(alice.read(name))))
                .hasMessageContaining("layout=plain")
                .hasMessageContaining("a read-write lock")
                .hasMessageContaining(alice.client());
        assertThat(failure(store.tryAcquire(alice.claim(name, 1, 5)))).hasMessageContaining("a semaphore of 5");
    }

    @Test
    void plainAndMixedStoresSeeEachOther() {
        LockStore plain = openPlain(Family.REDIS_7);
        LockStore mixed = openUrl(server.url() + "?layout=mixed");
        Claim reader = alice.read(name);
        long shared = granted(mixed, reader).counter();
        assertThat(failure(plain.tryAcquire(bob.mutex(name)))).hasMessageContaining("a read-write lock");
        assertThat(get(plain.inspect(name)).orElseThrow().holders()).hasSize(1);
        assertThat(get(mixed.release(reader)).wasOwner()).isTrue();
        Claim claim = bob.mutex(name);
        assertThat(granted(plain, claim).counter()).isGreaterThan(shared);
        assertThat(failure(mixed.tryAcquire(reader))).hasMessageContaining("a mutex");
        assertThat(get(mixed.release(claim)).wasOwner()).isTrue();
    }

    private ResourceState.Entry holder(LockStore store) {
        List<ResourceState.Entry> holders =
                get(store.inspect(name)).orElseThrow().holders();
        assertThat(holders).hasSize(1);
        return holders.get(0);
    }
}
