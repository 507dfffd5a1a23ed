package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * However many threads of a JVM wait for a name, one claim waits in the store for all of them, and it is never
 * orphaned.
 */
class OneContenderTest extends EngineFixture {

    private static final int MANY = 50;

    private final DistributedLock lock = locks.lock("one");
    private final DistributedLock theirs = rival.lock("one");

    @Test
    void fiftyWaitingThreadsMakeOneClaimInTheStore() {
        c.run(theirs::lock);
        List<Actor> threads = actors("waiter", MANY);
        List<CompletableFuture<Void>> waiting = new ArrayList<>();
        for (Actor thread : threads) {
            waiting.add(thread.parkIn(lock::lock));
        }
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(1);
        assertThat(waiters("one")).isEqualTo(1);

        c.run(theirs::unlock);
        for (int i = 0; i < MANY; i++) {
            Actor.end(waiting.get(i));
            threads.get(i).run(lock::unlock);
        }
        assertThat(store.count(Verb.ENQUEUE))
                .as("claims in the store's queue for all hand-offs")
                .isEqualTo(1);
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        awaitUnused("one");
    }

    /** The cost of refreshing tickets does not grow with the number of threads. */
    @Test
    void fiftyWaitingThreadsRefreshOneTicket() {
        c.run(theirs::lock);
        List<CompletableFuture<Void>> waiting = new ArrayList<>();
        for (Actor thread : actors("waiter", MANY)) {
            waiting.add(thread.parkIn(() -> lock.tryLock(20, TimeUnit.SECONDS)));
        }
        store.reset();
        pass(Duration.ofSeconds(10));
        assertThat(store.counts()).containsOnlyKeys(Verb.RENEW);
        assertThat(store.count(Verb.RENEW)).isBetween(3L, 15L);
        assertThat(waiters("one")).isEqualTo(1);
        pass(Duration.ofSeconds(10));
        waiting.forEach(Actor::end);
        awaitWaiters("one", 0);
        c.run(theirs::unlock);
    }

    @Test
    void aWaiterThatIsInterruptedPassesItsQueuePositionToTheNextOne() {
        assertPassesItsQueuePosition(() -> {
            a.interrupt();
            return InterruptedException.class;
        });
    }

    @Test
    void aWaiterWhoseTimeIsOverPassesItsQueuePositionToTheNextOne() {
        assertPassesItsQueuePosition(() -> {
            pass(Duration.ofSeconds(10));
            return LockTimeoutException.class;
        });
    }

    private interface GivingUp {
        Class<? extends Throwable> run();
    }

    private void assertPassesItsQueuePosition(GivingUp givingUp) {
        c.run(theirs::lock);
        CompletableFuture<Lease> first = a.park(() -> lock.acquire(Duration.ofSeconds(10)));
        CompletableFuture<Void> second = b.parkIn(lock::lock);
        Actor d = actor("D");
        CompletableFuture<Void> behind = d.parkIn(rival.lock("one")::lock);
        handOffTimeIsOver();
        awaitWaiters("one", 2);

        Actor.failure(givingUp.run(), first);
        assertThat(store.count(Verb.ENQUEUE))
                .as("claims that entered the store's queue")
                .isEqualTo(1);
        assertThat(waiters("one")).isEqualTo(2);
        assertThat(second).isNotDone();

        c.run(theirs::unlock);
        Actor.end(second);
        assertThat(behind).as("the other client, which came later").isNotDone();
        b.run(lock::unlock);
        Actor.end(behind);
        d.run(rival.lock("one")::unlock);
    }

    /**
     * The position in the queue belongs to a claim with a lease of 30 s. A waiter that wants another lease cannot
     * use it.
     */
    @Test
    void aQueuePositionThatTheNextWaiterCannotUseIsReleasedAndANewOneTaken() {
        DistributedLock other = locks.lock("one", LockOptions.defaults().withLease(Duration.ofSeconds(31)));
        c.run(theirs::lock);
        CompletableFuture<Void> first = a.parkIn(lock::lockInterruptibly);
        CompletableFuture<Void> second = b.parkIn(other::lock);
        a.interrupt();
        Actor.failure(InterruptedException.class, first);
        clock.settle();
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(2);
        assertThat(waiters("one")).isEqualTo(1);
        c.run(theirs::unlock);
        Actor.end(second);
        b.run(other::unlock);
        awaitUnused("one");
    }

    @Test
    void theLastWaiterThatGivesUpReleasesTheQueuePosition() {
        c.run(theirs::lock);
        CompletableFuture<Void> first = a.parkIn(lock::lockInterruptibly);
        CompletableFuture<Boolean> second = b.park(() -> lock.tryLock(5, TimeUnit.SECONDS));
        CompletableFuture<Lease> future = lock.acquireAsync();
        awaitWaiters("one", 1);
        a.interrupt();
        Actor.failure(InterruptedException.class, first);
        pass(Duration.ofSeconds(5));
        assertThat(Actor.end(second)).isFalse();
        assertThat(waiters("one")).isEqualTo(1);

        future.cancel(true);
        awaitWaiters("one", 0);
        assertThat(locks.state("one").orElseThrow().holders()).hasSize(1);
        c.run(theirs::unlock);
        assertThat(locks.state("one")).isEmpty();
    }

    /** Two waiters give up at once, the head of the queue and the one behind it. */
    @Test
    void nothingIsLeftWhenAllGiveUpAtOnce() {
        List<Actor> threads = actors("waiter", 5);
        for (int round = 0; round < 20; round++) {
            c.run(theirs::lock);
            List<CompletableFuture<Void>> waiting = new ArrayList<>();
            for (Actor thread : threads) {
                waiting.add(thread.parkIn(lock::lockInterruptibly));
            }
            threads.forEach(Actor::interrupt);
            waiting.forEach(gone -> Actor.failure(InterruptedException.class, gone));
            awaitWaiters("one", 0);
            c.run(theirs::unlock);
        }
    }

    /**
     * The grant arrives while its waiter gives up. It is either taken or given back, and the next local waiter gets
     * it.
     */
    @Test
    void aGrantThatCrossesAnInterruptIsNotLost() {
        for (int round = 0; round < 100; round++) {
            c.run(theirs::lock);
            CompletableFuture<Void> first = a.parkIn(lock::lockInterruptibly);
            CompletableFuture<Void> second = b.parkIn(lock::lock);
            CompletableFuture<Void> unlocking = c.begin(theirs::unlock);
            a.interrupt();
            boolean taken =
                    first.handle((done, interrupted) -> interrupted == null).join();
            if (taken) {
                a.run(lock::unlock);
            }
            Actor.end(unlocking);
            Actor.end(second);
            b.run(lock::unlock);
            awaitUnused("one");
        }
    }

    /**
     * A short hold ends before the store could answer, so no round trip is made for it. For a longer hold, a waiter
     * enters the store's queue.
     */
    @Test
    void nobodyEntersTheStoresQueueWhileALocalHoldMayEndSoon() {
        a.run(lock::lock);
        store.reset();
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        clock.advanceAndSettle(HAND_OFF_TIME.minusNanos(1));
        assertThat(store.total()).isZero();
        clock.advance(Duration.ofNanos(1));
        awaitWaiters("one", 1);
        a.run(lock::unlock);
        Actor.end(waiting);
        b.run(lock::unlock);
    }

    /** A frozen JVM loses its position in the queue, and enters the queue again when it continues. */
    @Test
    void aWaiterWhoseTicketExpiredEntersTheQueueAgain() {
        c.run(theirs::lock);
        CompletableFuture<Void> waiting = a.parkIn(lock::lock);
        clock.advanceAndSettle(Duration.ofSeconds(6));
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(2);
        assertThat(waiters("one")).isEqualTo(1);
        c.run(theirs::unlock);
        Actor.end(waiting);
        a.run(lock::unlock);
        awaitUnused("one");
    }

    /**
     * The answer to the renewal says that the old claim is gone. The listener has reported that before, and the
     * waiter has a new claim in the queue when the answer is read. The answer is about the old claim and must not
     * end the new one, which nobody would release then.
     */
    @Test
    void aLateAnswerAboutAnOldClaimDoesNotOrphanTheNewOne() {
        ForwardingStore slow = new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                CompletionStage<List<Renewed>> answers = super.renew(claims);
                if (answers.toCompletableFuture().join().stream().anyMatch(Renewed.Gone.class::isInstance)) {
                    Wait.until("the waiter has entered the queue again", () -> waiters("one") == 1);
                }
                return answers;
            }
        };
        Holdfast mine = client(slow);
        c.run(theirs::lock);
        CompletableFuture<Void> waiting = a.parkIn(mine.lock("one")::lock);
        clock.advanceAndSettle(Duration.ofSeconds(6));
        assertThat(waiters("one")).isEqualTo(1);
        c.run(theirs::unlock);
        Actor.end(waiting);
        a.run(mine.lock("one")::unlock);
        awaitUnused("one");
    }

    /** The push was on its way when the ticket of its claim ran out, and comes when the waiter has a new claim. */
    @Test
    void aLatePushAboutAnOldClaimIsNotBelieved() {
        List<ClaimListener> listeners = new CopyOnWriteArrayList<>();
        ForwardingStore remembering = new ForwardingStore(memory) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                listeners.add(listener);
                return super.enqueue(claim, listener);
            }
        };
        DistributedLock mine = client(remembering).lock("one");
        c.run(theirs::lock);
        CompletableFuture<Void> waiting = a.parkIn(mine::lock);
        clock.advanceAndSettle(Duration.ofSeconds(6));
        assertThat(listeners).hasSize(2);
        listeners.get(0).granted(new Granted(1, LEASE));
        clock.settle();
        assertThat(waiting).isNotDone();
        assertThat(waiters("one")).isEqualTo(1);
        c.run(theirs::unlock);
        Actor.end(waiting);
        a.run(mine::unlock);
    }

    @Test
    void namesDoNotWaitForEachOther() {
        c.run(theirs::lock);
        CompletableFuture<Void> waiting = a.parkIn(lock::lock);
        assertThat(b.get(() -> locks.lock("two").tryLock())).isTrue();
        b.run(locks.lock("two")::unlock);
        c.run(theirs::unlock);
        Actor.end(waiting);
        a.run(lock::unlock);
    }
}
