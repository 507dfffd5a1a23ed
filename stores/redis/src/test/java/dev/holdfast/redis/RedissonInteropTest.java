package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.redis.WithRedisson.OnlyWhenHinted;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Locks of Redisson's own clients, and ours, on the same key. */
class RedissonInteropTest extends StoreTest {

    private static final Duration WATCHDOG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofMillis(300);

    private static RedisServer server;
    private static RedissonClient redisson;

    private final LockStore store = closing(WithRedisson.store(server.url()));
    private final String key = name.value();
    private final RLock theirs = redisson.getLock(key);
    private final Claim ours = alice.mutex(name);

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        redisson = WithRedisson.client(server.url(), WATCHDOG);
    }

    @AfterAll
    static void stop() {
        redisson.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }

    // ---- exclusion ----

    @Test
    void theirLockExcludesOursUntilItsLastUnlock() {
        theirs.lock();
        theirs.lock();
        assertThat(get(store.tryAcquire(ours)))
                .isInstanceOfSatisfying(
                        Attempt.Busy.class,
                        busy -> assertThat(busy.retryAfter()).isBetween(WATCHDOG.dividedBy(2), WATCHDOG));
        theirs.unlock();
        busy(store, ours);
        theirs.unlock();
        granted(store, ours);
    }

    @Test
    void ourLockExcludesTheirsAndLooksAsTheirsDo() {
        granted(store, ours);
        assertThat(theirs.tryLock()).isFalse();
        assertThat(theirs.isLocked()).isTrue();
        assertThat(theirs.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(theirs::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(theirs.remainTimeToLive()).isBetween(1L, LONG.toMillis());
        Map<String, String> hash = server.ask(jedis -> jedis.hgetAll(key));
        assertThat(hash).containsExactly(Map.entry(ours.id().toString(), "1"));
        assertThat(renewed(store, ours)).isInstanceOf(Granted.class);
        assertThat(released(store, ours)).isTrue();
        assertThat(theirs.tryLock()).isTrue();
        theirs.unlock();
        assertThat(theirs.isLocked()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"order:{42}", "{order}:lock", "a}b", "{", "\u00e4 \ud83d\udd12"})
    void namesMeanTheSameKeysAndChannelsToBoth(String text) throws Exception {
        LockName same = new LockName(text);
        RLock other = redisson.getLock(text);
        granted(store, alice.mutex(same));
        assertThat(other.tryLock()).isFalse();
        Claim held = holders(store, same).get(0);
        CompletableFuture<Void> waiter = theirWait(other);
        assertThat(released(store, held)).isTrue();
        waiter.get(1, TimeUnit.MINUTES);
        granted(store, held);
        assertThat(get(store.list("", 10))).containsExactly(same);
        assertThat(released(store, held)).isTrue();
    }

    /** It keeps its own tokens, under another key. */
    @Test
    void theirFencedLockIsTheSameLock() {
        RFencedLock fenced = redisson.getFencedLock(key);
        fenced.lockAndGetToken();
        busy(store, ours);
        fenced.unlock();
        granted(store, ours);
        assertThat(fenced.tryLock()).isFalse();
        assertThat(released(store, ours)).isTrue();
    }

    // ---- wake-up ----

    /** Our lease is so long that they would not look at the lock again before the test is over. */
    @Test
    void theirWaiterIsWokenByOurRelease() throws Exception {
        granted(store, ours);
        CompletableFuture<Void> waiter = theirWait(theirs);
        assertThat(released(store, ours)).isTrue();
        waiter.get(1, TimeUnit.MINUTES);
    }

    @Test
    void ourWaiterIsWokenByTheirRelease() throws Exception {
        OnlyWhenHinted hinted = new OnlyWhenHinted(store);
        Holdfast locks = closing(Holdfast.over(hinted));
        theirs.lock();
        CompletableFuture<Void> waiter = WithRedisson.onNewThread(() -> {
            locks.lock(key).lock();
            locks.lock(key).unlock();
        });
        // The first attempt, and the one after the server has confirmed the subscription.
        awaitUntil(() -> hinted.busy() == 2);
        assertThat(waiter).isNotDone();
        theirs.unlock();
        waiter.get(1, TimeUnit.MINUTES);
        assertThat(hinted.busy()).isEqualTo(2);
    }

    // ---- the end of a lock ----

    @Test
    void ourLeaseThatEndsFreesTheLockForThem() throws Exception {
        granted(store, ours.withLease(SHORT));
        theirWait(theirs).get(1, TimeUnit.MINUTES);
        assertThat(renewed(store, ours)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
    }

    @Test
    void theirLeaseThatEndsFreesTheLockForUs() {
        theirs.lock(SHORT.toMillis(), TimeUnit.MILLISECONDS);
        Holdfast locks = closing(Holdfast.over(store));
        locks.lock(key).lock();
        assertThatThrownBy(theirs::unlock).isInstanceOf(IllegalMonitorStateException.class);
        locks.lock(key).unlock();
    }

    @Test
    void forcedUnlockIsALossAndTheirNextLockIsNotTouched() {
        granted(store, ours);
        assertThat(theirs.forceUnlock()).isTrue();
        assertThat(renewed(store, ours)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
        granted(store, ours.again());
        assertThat(theirs.forceUnlock()).isTrue();
        theirs.lock();
        assertThat(renewed(store, ours)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
        assertThat(released(store, ours)).isFalse();
        assertThat(released(store, ours.again())).isFalse();
        assertThat(theirs.isHeldByCurrentThread()).isTrue();
        theirs.unlock();
    }

    @Test
    void holderIsNotifiedOfAForcedUnlock() throws Exception {
        Holdfast locks = closing(Holdfast.over(store));
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        Lease lease = locks.lock(key, LockOptions.defaults().withLease(Duration.ofSeconds(3)))
                .acquire();
        lease.onLost(lost::complete);
        theirs.forceUnlock();
        assertThat(lost.get(1, TimeUnit.MINUTES)).isEqualTo(LossReason.EXPIRED);
    }

    @Test
    void theirLockIsShownListedAndBrokenAsItWasSeen() throws Exception {
        theirs.lock();
        ResourceState.Entry seen =
                get(store.inspect(name)).orElseThrow().holders().get(0);
        assertThat(seen.claim().owner().client()).isEqualTo("unknown");
        String field = redisson.getId() + ":" + Thread.currentThread().getId();
        assertThat(seen.claim().owner().label()).isEqualTo(field);
        assertThat(seen.remaining()).isBetween(WATCHDOG.dividedBy(2), WATCHDOG);
        assertThat(get(store.list(key, 10))).containsExactly(name);
        theirs.unlock();

        WithRedisson.onNewThread(theirs::lock).get();
        assertThat(released(store, seen.claim().again()))
                .as("what was seen is over")
                .isFalse();
        Claim next = holders(store, name).get(0);
        CompletableFuture<Void> waiter = theirWait(theirs);
        assertThat(released(store, next.again())).isTrue();
        waiter.get(1, TimeUnit.MINUTES);
        granted(store, ours);
    }

    @Test
    void theirLockWithoutAnEndIsBusyUntilAnOperatorBreaksIt() {
        server.ask(jedis -> jedis.hset(key, "b0f0d4de-1111-2222-3333-444455556666:7", "2"));
        assertThat(get(store.tryAcquire(ours))).isEqualTo(new Attempt.Busy(Duration.ZERO));
        ResourceState.Entry seen =
                get(store.inspect(name)).orElseThrow().holders().get(0);
        assertThat(seen.claim().owner().label()).isEqualTo("b0f0d4de-1111-2222-3333-444455556666:7 (has no end)");
        assertThat(released(store, seen.claim().again())).isTrue();
        granted(store, ours);
    }

    // ---- what is not an exclusive lock ----

    @Test
    void theirOtherLocksAreRefusedByName() {
        redisson.getReadWriteLock(key).readLock().lock();
        assertRefused("read-write lock of Redisson");
        redisson.getReadWriteLock(key).readLock().unlock();
        redisson.getReadWriteLock(key).writeLock().lock();
        assertRefused("read-write lock of Redisson");
        redisson.getReadWriteLock(key).writeLock().unlock();
        redisson.getSemaphore(key).trySetPermits(3);
        assertRefused("another type");
        redisson.getSemaphore(key).delete();
        redisson.getPermitExpirableSemaphore(key).trySetPermits(3);
        assertRefused("another type");
        redisson.getPermitExpirableSemaphore(key).delete();
        redisson.getMap(key).put("a", "b");
        assertRefused("a hash, but no lock");
        redisson.getMap(key).put("c", "d");
        assertRefused("a hash, but no lock");
        assertThat(get(store.list(key, 10))).isEmpty();
        redisson.getMap(key).delete();
        granted(store, ours);
    }

    @Test
    void theirFairLockIsRefusedWhileItsClientsWait() throws Exception {
        RLock fair = redisson.getFairLock(key);
        fair.lock();
        CompletableFuture<Void> waiter = WithRedisson.onNewThread(() -> {
            fair.lock();
            fair.unlock();
        });
        String queue = "redisson_lock_queue:{" + key + "}";
        awaitUntil(() -> server.ask(jedis -> jedis.exists(queue)));
        assertThat(failure(store.tryAcquire(ours)))
                .hasMessageContaining("a fair lock of Redisson")
                .hasMessageContaining(queue)
                .hasMessageContaining("use another name");
        fair.unlock();
        waiter.get(1, TimeUnit.MINUTES);
        granted(store, ours);
    }

    /** Their read lock takes a hash without a mode for a free one. */
    @Test
    void lockIntoWhichTheirReaderHasBrokenIsLost() {
        Claim neighbour = alice.mutex(new LockName(name + "-neighbour"));
        granted(store, neighbour);
        granted(store, ours);
        redisson.getReadWriteLock(key).readLock().lock();
        List<Renewed> answers = get(store.renew(List.of(ours, neighbour)));
        assertThat(answers.get(0)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
        assertThat(answers.get(1)).isInstanceOf(Granted.class);
        assertThat(released(store, ours)).isTrue();
        Set<String> fields = server.ask(jedis -> jedis.hkeys(key));
        assertThat(fields)
                .as("theirs is left")
                .contains("mode")
                .doesNotContain(ours.id().toString());
        redisson.getReadWriteLock(key).readLock().unlock();
    }

    @Test
    void otherKindsOfOursAreRefusedWithTheNameOfTheLayout() {
        assertThat(failure(store.tryAcquire(alice.read(name))))
                .hasMessageContaining("layout=redisson")
                .hasMessageContaining("a read-write lock")
                .hasMessageContaining(alice.client());
        assertThat(failure(store.tryAcquire(alice.claim(name, 1, 5)))).hasMessageContaining("a semaphore of 5");
    }

    private void assertRefused(String why) {
        Consumer<CompletionStage<?>> refused = call -> {
            StoreException failure = failure(call);
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isFalse();
            assertThat(failure).hasMessageContaining(why).hasMessageContaining(key);
        };
        refused.accept(store.tryAcquire(ours));
        refused.accept(store.inspect(name));
    }

    private static CompletableFuture<Void> theirWait(RLock lock) {
        return WithRedisson.waiting(lock, server);
    }
}
