package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Tests of acquisitions and releases that block no thread. */
class AsyncTest extends EngineFixture {

    private final DistributedLock lock = locks.lock("async");

    @Test
    void aFreeLockIsGranted() {
        Lease lease = Actor.end(lock.acquireAsync());
        assertThat(lease.isValid()).isTrue();
        assertThat(b.get(() -> rival.lock("async").tryLock())).isFalse();
        Actor.end(lease.releaseAsync());
        assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
        assertThat(isUnused("async")).isTrue();
    }

    @Test
    void aLockThatIsHeldIsWaitedFor() {
        c.run(rival.lock("async")::lock);
        CompletableFuture<Lease> future = lock.acquireAsync();
        awaitWaiters("async", 1);
        pass(Duration.ofMinutes(2));
        assertThat(future).isNotDone();
        assertThat(waiters("async")).isEqualTo(1);
        c.run(rival.lock("async")::unlock);
        Actor.end(future).release();
    }

    @Test
    void aTimeLimitEndsTheWaitAndLeavesNothing() {
        c.run(rival.lock("async")::lock);
        CompletableFuture<Lease> future = lock.acquireAsync(Duration.ofSeconds(3));
        awaitWaiters("async", 1);
        pass(Duration.ofSeconds(3));
        assertThat(Actor.failure(LockTimeoutException.class, future))
                .hasMessageContainingAll("async", locks.clientId());
        awaitWaiters("async", 0);
        c.run(rival.lock("async")::unlock);
    }

    @Test
    void aTimeLimitOfZeroTriesOnceAndLeavesNothing() {
        Actor.end(lock.acquireAsync(Duration.ZERO)).release();
        c.run(rival.lock("async")::lock);
        Actor.failure(LockTimeoutException.class, lock.acquireAsync(Duration.ZERO));
        awaitWaiters("async", 0);
        c.run(rival.lock("async")::unlock);
    }

    @Test
    void aCancelledWaitLeavesNothing() {
        c.run(rival.lock("async")::lock);
        CompletableFuture<Lease> future = lock.acquireAsync();
        awaitWaiters("async", 1);
        assertThat(future.cancel(true)).isTrue();
        awaitWaiters("async", 0);
        c.run(rival.lock("async")::unlock);
        awaitUnused("async");
    }

    /** The usual way to set a time limit on a future ends the future without cancelling it. */
    @Test
    void aFutureThatItsUserEndsInAnotherWayLeavesNothing() {
        c.run(rival.lock("async")::lock);
        CompletableFuture<Lease> future = lock.acquireAsync();
        awaitWaiters("async", 1);
        future.completeExceptionally(new TimeoutException("orTimeout() does this"));
        awaitWaiters("async", 0);
        c.run(rival.lock("async")::unlock);
        awaitUnused("async");
    }

    @Test
    void aGrantThatCrossesACancellationIsGivenBack() {
        Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(callbacks::add));
        CompletableFuture<Lease> future = mine.lock("async").acquireAsync();
        Wait.until("it is granted, but not reported yet", () -> !callbacks.isEmpty());
        assertThat(holders("async")).isEqualTo(1);
        future.cancel(false);
        callbacks.forEach(Runnable::run);
        awaitUnused("async");
    }

    @Test
    void cancellationAtRandomMomentsLeavesNothing() {
        for (int round = 0; round < 300; round++) {
            CompletableFuture<Lease> first = lock.acquireAsync();
            CompletableFuture<Lease> second = lock.acquireAsync();
            for (int spins = 0; spins < round % 50; spins++) {
                Thread.onSpinWait();
            }
            boolean cancelled = first.cancel(false);
            if (!cancelled) {
                first.join().release();
            }
            Actor.end(second).release();
            awaitUnused("async");
        }
    }

    @Test
    void aCancellationAfterTheGrantChangesNothing() {
        CompletableFuture<Lease> future = lock.acquireAsync();
        Lease lease = Actor.end(future);
        assertThat(future.cancel(true)).isFalse();
        assertThat(lease.isValid()).isTrue();
        lease.release();
    }

    @Test
    void manyFuturesOfOneNameAreServedOneAfterTheOtherThroughOneQueueEntry() {
        c.run(rival.lock("async")::lock);
        List<CompletableFuture<Lease>> futures = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            futures.add(lock.acquireAsync());
        }
        awaitWaiters("async", 1);
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(1);
        c.run(rival.lock("async")::unlock);
        AtomicInteger holding = new AtomicInteger();
        AtomicLong last = new AtomicLong();
        List<CompletableFuture<Void>> done = new ArrayList<>();
        for (CompletableFuture<Lease> future : futures) {
            done.add(future.thenAccept(lease -> {
                assertThat(holding.incrementAndGet()).as("holders at once").isEqualTo(1);
                assertThat(lease.token()).isGreaterThan(last.getAndSet(lease.token()));
                holding.decrementAndGet();
                lease.release();
            }));
        }
        done.forEach(Actor::end);
        awaitUnused("async");
    }

    @Test
    void manyFuturesOfManyNamesAreServedByABoundedNumberOfThreads() {
        // Those of other tests' clients may not have ended yet.
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        List<CompletableFuture<Lease>> futures = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            futures.add(locks.lock("async" + i).acquireAsync());
        }
        futures.forEach(Actor::end);
        long io = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-io") && !before.contains(thread))
                .count();
        assertThat(io).isLessThanOrEqualTo(128);
        List<CompletableFuture<Void>> released = new ArrayList<>();
        futures.forEach(future -> released.add(future.join().releaseAsync()));
        released.forEach(Actor::end);
        assertThat(locks.list("async", 1_000)).isEmpty();
    }

    /** A user's callback of a future may block, so it must not run on a thread that others need. */
    @Test
    void futuresAreCompletedOnCallbackThreads() {
        c.run(rival.lock("async")::lock);
        AtomicReference<Thread> granted = new AtomicReference<>();
        AtomicReference<Thread> timedOut = new AtomicReference<>();
        AtomicReference<Thread> released = new AtomicReference<>();
        CompletableFuture<Lease> first = lock.acquireAsync();
        CompletableFuture<Lease> second = lock.acquireAsync(Duration.ofSeconds(2));
        CompletableFuture<Void> afterFirst = first.thenCompose(lease -> {
            granted.set(Thread.currentThread());
            return lease.releaseAsync().thenRun(() -> released.set(Thread.currentThread()));
        });
        CompletableFuture<Void> afterSecond = second.handle((lease, failure) -> {
            timedOut.set(Thread.currentThread());
            return null;
        });
        awaitWaiters("async", 1);
        pass(Duration.ofSeconds(2));
        Actor.end(afterSecond);
        c.run(rival.lock("async")::unlock);
        Actor.end(afterFirst);
        for (AtomicReference<Thread> on : List.of(granted, timedOut, released)) {
            assertThat(on.get().getName()).startsWith("holdfast-callback");
        }
    }

    @Test
    void releaseAsyncOfALostLeaseFailsOnceAndASecondReleaseDoesNothing() {
        Lease lease = Actor.end(locks.lock("async", LockOptions.defaults().withFixedLease(LEASE))
                .acquireAsync());
        clock.advance(LEASE);
        Actor.failure(LockLostException.class, lease.releaseAsync());
        Actor.end(lease.releaseAsync());
        lease.release();
        awaitUnused("async");
    }

    @Test
    void aSemaphoresFutureWaitsForItsPermits() throws InterruptedException {
        DistributedSemaphore pool = locks.semaphore("async", 3);
        Lease two = rival.semaphore("async", 3).acquire(2);
        CompletableFuture<Lease> future = pool.acquireAsync(2);
        CompletableFuture<Lease> timed = pool.acquireAsync(3, Duration.ofSeconds(1));
        awaitWaiters("async", 1);
        pass(Duration.ofSeconds(1));
        Actor.failure(LockTimeoutException.class, timed);
        two.release();
        Actor.end(future).release();
        awaitUnused("async");
    }

    @Test
    void aFutureIsRepairedAfterAnUnknownOutcome() {
        network.next(Verb.ENQUEUE, Fault.DROP_REPLY, Fault.DROP_REQUEST);
        CompletableFuture<Lease> future = lock.acquireAsync();
        clock.advanceUntil("it is granted", Duration.ofMillis(20), future::isDone);
        assertThat(holders("async")).isEqualTo(1);
        Actor.end(future).release();
        awaitUnused("async");
    }

    @Test
    void aFutureIsFairAmongThreads() {
        a.run(lock::lock);
        CompletableFuture<Lease> future = lock.acquireAsync(Duration.ofHours(1));
        CompletableFuture<Boolean> thread = b.park(() -> lock.tryLock(1, TimeUnit.HOURS));
        a.run(lock::unlock);
        Lease lease = Actor.end(future);
        assertThat(thread).isNotDone();
        lease.release();
        assertThat(Actor.end(thread)).isTrue();
        b.run(lock::unlock);
    }

    /**
     * The user cancels at the moment at which the engine asks the store for hints. The registration for hints must
     * not stay for ever.
     */
    @Test
    void aCancellationThatCrossesARequestForHintsForgetsTheListener() {
        AtomicReference<CompletableFuture<Lease>> future = new AtomicReference<>();
        AtomicInteger watching = new AtomicInteger();
        NoQueueStore spinning = new NoQueueStore(memory) {
            @Override
            public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
                watching.incrementAndGet();
                Wait.until("the future is known", () -> future.get() != null);
                future.get().cancel(false);
                return watching::decrementAndGet;
            }
        };
        c.run(rival.lock("async")::lock);
        future.set(client(spinning).lock("async").acquireAsync());
        clock.advanceUntil(
                "it has ended", Duration.ofMillis(1), () -> future.get().isDone());
        assertThat(future.get()).isCancelled();
        Wait.until("no listener is left at the store", () -> watching.get() == 0);
        c.run(rival.lock("async")::unlock);
    }
}
