package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests of the options {@code fair} and {@code spin}, and of stores that have no queue. */
class WaitingStyleTest extends EngineFixture {

    private static final LockOptions FAIR = LockOptions.defaults().withFair(true);
    private static final LockOptions SPIN = LockOptions.defaults().withSpin(true);

    @Test
    void fairLocksAreGrantedInTheOrderOfArrivalAcrossThreadsAndClients() {
        DistributedLock mine = locks.lock("turn", FAIR);
        DistributedLock theirs = rival.lock("turn", FAIR);
        List<Actor> threads = actors("waiter", 12);
        Actor first = actor("first");
        first.run(mine::lock);
        List<CompletableFuture<Void>> waiting = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            waiting.add(threads.get(i).parkIn((i % 3 == 1 ? theirs : mine)::lock));
        }
        assertThat(waiters("turn")).isEqualTo(12);
        first.run(mine::unlock);
        long token = 0;
        for (int i = 0; i < 12; i++) {
            DistributedLock lock = i % 3 == 1 ? theirs : mine;
            Actor.end(waiting.get(i));
            for (int later = i + 1; later < 12; later++) {
                assertThat(waiting.get(later))
                        .as("waiter %d while %d holds", later, i)
                        .isNotDone();
            }
            long next = threads.get(i).get(lock::token);
            assertThat(next).isGreaterThan(token);
            token = next;
            threads.get(i).run(lock::unlock);
        }
        awaitUnused("turn");
    }

    @Test
    void aRunningThreadDoesNotPassAFairWaiterOfItsOwnJvm() {
        DistributedLock mine = locks.lock("turn", FAIR);
        a.run(mine::lock);
        CompletableFuture<Void> waiting = b.parkIn(mine::lock);
        CompletableFuture<Boolean> barging = a.start(() -> {
            mine.unlock();
            return mine.tryLock();
        });
        assertThat(Actor.end(barging)).isFalse();
        Actor.end(waiting);
        b.run(mine::unlock);
    }

    @Test
    void aFairWaiterThatGivesUpLeavesNothingAndTheNextHasTheLock() {
        DistributedLock mine = locks.lock("turn", FAIR);
        c.run(rival.lock("turn", FAIR)::lock);
        CompletableFuture<Void> first = a.parkIn(mine::lockInterruptibly);
        CompletableFuture<Boolean> second = b.park(() -> mine.tryLock(1, TimeUnit.HOURS));
        CompletableFuture<Lease> third = mine.acquireAsync();
        awaitWaiters("turn", 3);
        a.interrupt();
        Actor.failure(InterruptedException.class, first);
        awaitWaiters("turn", 2);
        c.run(rival.lock("turn")::unlock);
        assertThat(Actor.end(second)).isTrue();
        assertThat(third).isNotDone();
        third.cancel(false);
        awaitWaiters("turn", 0);
        b.run(mine::unlock);
        awaitUnused("turn");
    }

    @Test
    void aFairLockIsReentrant() {
        DistributedLock mine = locks.lock("turn", FAIR);
        a.run(mine::lock);
        CompletableFuture<Void> waiting = b.parkIn(mine::lock);
        a.run(mine::lock);
        a.run(mine::unlock);
        assertThat(waiting).isNotDone();
        a.run(mine::unlock);
        Actor.end(waiting);
        b.run(mine::unlock);
    }

    @Test
    void fairReadersAndWritersKeepTheirOrder() {
        var mine = locks.readWriteLock("turn", FAIR);
        a.run(mine.readLock()::lock);
        CompletableFuture<Void> writer = b.parkIn(mine.writeLock()::lock);
        CompletableFuture<Void> reader = c.parkIn(mine.readLock()::lock);
        a.run(mine.readLock()::unlock);
        Actor.end(writer);
        assertThat(reader).isNotDone();
        b.run(mine.writeLock()::unlock);
        Actor.end(reader);
        c.run(mine.readLock()::unlock);
    }

    @Test
    void fairIsRefusedOnAStoreWithoutAQueue() {
        Holdfast mine = client(new NoQueueStore(memory));
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> mine.lock("turn", FAIR))
                .withMessageContainingAll("turn", "fair", "queue");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> mine.semaphore("turn", 3, FAIR));
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> mine.readWriteLock("turn", FAIR));
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> mine.multiLock(List.of("turn"), FAIR));
    }

    @Test
    void fairAndSpinTogetherAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.lock("turn", FAIR.withSpin(true)))
                .withMessageContainingAll("turn", "spin", "fair");
    }

    @Test
    void aSpinningWaiterTriesWithGrowingPausesAndDoesNotEnterTheQueue() {
        DistributedLock mine = locks.lock("spin", SPIN);
        c.run(rival.lock("spin")::lock);
        CompletableFuture<Void> waiting = a.parkIn(mine::lock);
        store.reset();
        for (int i = 0; i < 1_000; i++) {
            clock.advanceAndSettle(Duration.ofMillis(10));
        }
        assertThat(waiters("spin")).isZero();
        assertThat(store.count(Verb.ENQUEUE)).isZero();
        assertThat(store.count(Verb.TRY_ACQUIRE)).as("attempts in ten seconds").isBetween(100L, 259L);
        c.run(rival.lock("spin")::unlock);
        clock.advanceUntil("it has the lock", Duration.ofMillis(10), waiting::isDone);
        Actor.end(waiting);
        a.run(mine::unlock);
        awaitUnused("spin");
    }

    @Test
    void aSpinningWaiterThatGivesUpLeavesNothing() {
        DistributedLock mine = locks.lock("spin", SPIN);
        c.run(rival.lock("spin")::lock);
        CompletableFuture<Boolean> waiting = a.park(() -> mine.tryLock(1, TimeUnit.SECONDS));
        CompletableFuture<Void> other = b.parkIn(mine::lockInterruptibly);
        clock.advanceUntil("its time is over", Duration.ofMillis(10), waiting::isDone);
        assertThat(Actor.end(waiting)).isFalse();
        b.interrupt();
        Actor.failure(InterruptedException.class, other);
        c.run(rival.lock("spin")::unlock);
        awaitUnused("spin");
    }

    /** Local threads do not all spin: they make one attempt at a time for all of them. */
    @Test
    void manySpinningThreadsMakeOneAttemptAtATime() {
        DistributedLock mine = locks.lock("spin", SPIN);
        c.run(rival.lock("spin")::lock);
        List<Actor> threads = actors("waiter", 20);
        List<CompletableFuture<Void>> waiting = new ArrayList<>();
        for (Actor thread : threads) {
            waiting.add(thread.parkIn(mine::lock));
        }
        store.reset();
        for (int i = 0; i < 100; i++) {
            clock.advanceAndSettle(Duration.ofMillis(10));
        }
        assertThat(store.count(Verb.TRY_ACQUIRE)).as("attempts in a second").isBetween(10L, 39L);
        c.run(rival.lock("spin")::unlock);
        for (int i = 0; i < 20; i++) {
            CompletableFuture<Void> next = waiting.get(i);
            clock.advanceUntil("it has the lock", Duration.ofMillis(10), next::isDone);
            Actor.end(next);
            threads.get(i).run(mine::unlock);
        }
        awaitUnused("spin");
    }

    @Test
    void aStoreWithoutAQueueIsSpunOnAndItsHintsEndThePause() {
        NoQueueStore bare = new NoQueueStore(memory);
        CountingStore counting = new CountingStore(bare);
        Holdfast mine = client(counting);
        Holdfast other = client(bare);
        c.run(other.lock("spin")::lock);
        CompletableFuture<Void> waiting = a.parkIn(mine.lock("spin")::lock);
        clock.advanceUntil("it watches for hints", Duration.ofMillis(5), () -> bare.watchers() == 1);
        assertThat(waiting).isNotDone();
        c.run(other.lock("spin")::unlock);
        Actor.end(waiting);
        a.run(mine.lock("spin")::unlock);
        Wait.until("nobody watches any more", () -> bare.watchers() == 0);
        assertThat(counting.count(Verb.ENQUEUE)).isZero();
        awaitUnused("spin");
    }

    @Test
    void aStoreWithoutAQueueHandsOffLocallyAllTheSame() {
        CountingStore counting = new CountingStore(new NoQueueStore(memory));
        DistributedLock mine = client(counting).lock("spin");
        a.run(mine::lock);
        CompletableFuture<Void> waiting = b.parkIn(mine::lock);
        counting.reset();
        a.run(mine::unlock);
        Actor.end(waiting);
        assertThat(counting.total()).isZero();
        b.run(mine::unlock);
    }

    /** Else clients that queue would pass it for as long as they come. */
    @Test
    void oneWhoSpinsKeepsNobodyBehindItOutOfTheStoresQueue() {
        DistributedLock spinning = locks.lock("spin", SPIN);
        DistributedLock queueing = locks.lock("spin");
        c.run(rival.lock("spin")::lock);
        CompletableFuture<Void> first = a.parkIn(() -> {
            spinning.lock();
            spinning.unlock();
        });
        CompletableFuture<Void> second = b.parkIn(() -> {
            queueing.lock();
            queueing.unlock();
        });
        awaitWaiters("spin", 1);
        c.run(rival.lock("spin")::unlock);
        Actor.end(first);
        Actor.end(second);
        awaitUnused("spin");
    }

    @Test
    void hintsThatCannotBeHadAreDoneWithout() {
        DistributedLock mine = client(new NoQueueStore(memory) {
                    @Override
                    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
                        throw StoreException.unavailable(StoreException.Effect.NONE, "no subscription", null);
                    }
                })
                .lock("spin");
        c.run(rival.lock("spin")::lock);
        CompletableFuture<Void> waiting = a.parkIn(mine::lock);
        pass(Duration.ofSeconds(1));
        c.run(rival.lock("spin")::unlock);
        pass(Duration.ofSeconds(1));
        Actor.end(waiting);
        a.run(mine::unlock);
    }
}
