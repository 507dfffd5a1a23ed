package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Released;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests that what blocks for one name, on a thread that many share, delays no other name. */
class SharedThreadTest extends EngineFixture {

    private static final int DEAD_CALLS = 20;
    private static final int MORE_THAN_THREADS = 130;

    private final CountDownLatch dead = new CountDownLatch(1);

    /** A store that blocks the calling thread for some names, as a driver does whose server is gone. */
    private final class HalfDeadStore extends ForwardingStore {

        private HalfDeadStore() {
            super(network);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            hangIfDead(claim);
            return super.tryAcquire(claim);
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            hangIfDead(claim);
            return super.enqueue(claim, listener);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            if (claim.name().value().startsWith("stuck")) {
                awaitEnd(dead);
            }
            return super.release(claim);
        }

        private void hangIfDead(Claim claim) {
            if (claim.name().value().startsWith("dead")) {
                awaitEnd(dead);
            }
        }
    }

    /** More futures than there are threads for them, all of which hang. */
    private static List<CompletableFuture<Lease>> hangOnAllThreads(Holdfast half) {
        return hang(half, MORE_THAN_THREADS);
    }

    private static List<CompletableFuture<Lease>> hang(Holdfast half, int calls) {
        return IntStream.range(0, calls)
                .mapToObj(i -> half.lock("dead" + i).acquireAsync())
                .toList();
    }

    private void letGo(List<CompletableFuture<Lease>> hanging) {
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        dead.countDown();
        hanging.forEach(future -> Actor.end(future).release());
    }

    private static void awaitEnd(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** Also if the test has failed, since a client could not be closed else. */
    @AfterEach
    void letAllGoOn() {
        dead.countDown();
    }

    @Test
    void acquisitionsThatHangDelayNoOtherName() {
        Holdfast half = client(new HalfDeadStore());
        List<CompletableFuture<Lease>> hanging = new ArrayList<>();
        for (int i = 0; i < DEAD_CALLS; i++) {
            hanging.add(half.lock("dead" + i).acquireAsync(Duration.ZERO));
        }
        Lease healthy = Actor.end(half.lock("healthy").acquireAsync(Duration.ZERO));
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        healthy.release();
        dead.countDown();
        hanging.forEach(future -> Actor.end(future).release());
    }

    @Test
    void releasesThatHangDelayNoOtherName() throws InterruptedException {
        Holdfast half = client(new HalfDeadStore());
        List<CompletableFuture<Void>> hanging = new ArrayList<>();
        for (int i = 0; i < DEAD_CALLS; i++) {
            hanging.add(half.lock("stuck" + i).acquire().releaseAsync());
        }
        Actor.end(half.lock("healthy").acquire().releaseAsync());
        assertThat(isUnused("healthy")).isTrue();
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        dead.countDown();
        hanging.forEach(Actor::end);
    }

    /** Else the lock would be granted to somebody who does not wait for it any more. */
    @Test
    void aWaitThatHasTimedOutLeavesTheQueueAlthoughAcquisitionsHang() {
        Holdfast half = client(new HalfDeadStore());
        c.run(rival.lock("healthy")::lock);
        Duration time = Duration.ofMillis(500);
        CompletableFuture<Lease> waiting = half.lock("healthy").acquireAsync(time);
        awaitWaiters("healthy", 1);
        List<CompletableFuture<Lease>> hanging = hang(half, DEAD_CALLS);
        clock.advance(time);
        Actor.failure(LockTimeoutException.class, waiting);
        assertThat(waiters("healthy")).isZero();
        c.run(rival.lock("healthy")::unlock);
        letGo(hanging);
    }

    /** Releases have threads of their own: those of the acquisitions all hang here. */
    @Test
    void aThreadsWaitThatHasTimedOutLeavesTheQueueAlthoughAllThreadsOfAcquisitionsHang() {
        Holdfast half = client(new HalfDeadStore());
        c.run(rival.lock("healthy")::lock);
        Duration time = Duration.ofMillis(500);
        CompletableFuture<Boolean> waiting =
                a.park(() -> half.lock("healthy").tryLock(time.toMillis(), TimeUnit.MILLISECONDS));
        awaitWaiters("healthy", 1);
        List<CompletableFuture<Lease>> hanging = hangOnAllThreads(half);
        clock.advance(time);
        awaitWaiters("healthy", 0);
        assertThat(Actor.end(waiting)).isFalse();
        c.run(rival.lock("healthy")::unlock);
        letGo(hanging);
    }

    @Test
    void aReleaseIsMadeAlthoughAllThreadsOfAcquisitionsHang() throws InterruptedException {
        Holdfast half = client(new HalfDeadStore());
        Lease healthy = half.lock("healthy").acquire();
        List<CompletableFuture<Lease>> hanging = hangOnAllThreads(half);
        Actor.end(healthy.releaseAsync());
        assertThat(isUnused("healthy")).isTrue();
        letGo(hanging);
    }

    @Test
    void anAcquisitionIsMadeAlthoughAllThreadsOfReleasesHang() throws InterruptedException {
        Holdfast half = client(new HalfDeadStore());
        List<CompletableFuture<Void>> hanging = new ArrayList<>();
        for (int i = 0; i < MORE_THAN_THREADS; i++) {
            hanging.add(half.lock("stuck" + i).acquire().releaseAsync());
        }
        Actor.end(half.lock("healthy").acquireAsync()).close();
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        dead.countDown();
        hanging.forEach(Actor::end);
    }

    /** The future came first, and would ask the store for both of them, had it a thread to do so. */
    @Test
    void aThreadAsksTheStoreItselfWhenAFutureBeforeItCannot() {
        Holdfast half = client(new HalfDeadStore());
        List<CompletableFuture<Lease>> hanging = hangOnAllThreads(half);
        DistributedLock healthy = half.lock("healthy");
        CompletableFuture<Void> future = healthy.acquireAsync().thenAccept(Lease::release);
        a.run(() -> {
            healthy.lock();
            healthy.unlock();
        });
        Actor.end(future);
        letGo(hanging);
    }

    @Test
    void aFutureThatIsGrantedNeedsNoThreadOfThoseThatHang() {
        Holdfast half = client(new HalfDeadStore());
        DistributedLock healthy = half.lock("healthy");
        c.run(rival.lock("healthy")::lock);
        CompletableFuture<Void> future = healthy.acquireAsync().thenAccept(Lease::release);
        awaitWaiters("healthy", 1);
        CompletableFuture<Void> thread = a.parkIn(() -> {
            healthy.lock();
            healthy.unlock();
        });
        List<CompletableFuture<Lease>> hanging = hangOnAllThreads(half);
        // It is due to look at its request, which needs one of those threads.
        rival.forceRelease(rival.state("healthy").orElseThrow().waiters().get(0));
        awaitWaiters("healthy", 1);
        c.run(rival.lock("healthy")::unlock);
        Actor.end(future);
        Actor.end(thread);
        letGo(hanging);
    }

    @Test
    void aThreadRepeatsItsAttemptAtSeveralNamesItself() {
        Holdfast half = client(new HalfDeadStore());
        List<CompletableFuture<Lease>> hanging = hangOnAllThreads(half);
        DistributedLock several = half.multiLock("x", "y");
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.REFUSE);
        CompletableFuture<Boolean> trying = a.park(() -> several.tryLock());
        clock.advance(Duration.ofMillis(20));
        assertThat(Actor.end(trying)).isTrue();
        a.run(several::unlock);
        letGo(hanging);
    }

    /** An observer that blocks at whatever happens to a grant. */
    private final class BlockingObserver implements LockObserver {

        private final CountDownLatch entered = new CountDownLatch(1);

        @Override
        public void renewed(int claims, int failed, Duration took) {
            entered.countDown();
            awaitEnd(dead);
        }

        @Override
        public void handedOff(String name, int times) {
            awaitEnd(dead);
        }

        @Override
        public void lost(String name, LossReason reason) {
            awaitEnd(dead);
        }
    }

    /** The observer blocks at the end of one grant. The other name is lost, and its listener is called, all the same. */
    @Test
    void anObserverThatBlocksDelaysNoLoss() {
        Holdfast observed = client(Holdfast.builder().store(memory).observer(new BlockingObserver()));
        List<String> lost = new CopyOnWriteArrayList<>();
        LockOptions fixed = LockOptions.defaults().withFixedLease(LEASE);
        DistributedLock one = observed.lock("one", fixed.withOnLost(reason -> lost.add("one")));
        DistributedLock two = observed.lock("two", fixed.withOnLost(reason -> lost.add("two")));
        // The end of a grant that was passed on is an event of its own.
        a.run(one::lock);
        CompletableFuture<Void> next = b.parkIn(one::lock);
        a.run(one::unlock);
        Actor.end(next);
        clock.advance(Duration.ofSeconds(1));
        a.run(two::lock);
        clock.advance(LEASE.minusSeconds(1));
        Wait.until("the first is lost", () -> lost.contains("one"));
        clock.advance(Duration.ofSeconds(1));
        Wait.until("the second is lost", () -> lost.contains("two"));
        dead.countDown();
        assertThat(a.get(two::isHeldByCurrentThread)).isFalse();
    }

    @Test
    void anObserverThatBlocksDelaysNoRenewal() throws InterruptedException {
        Holdfast observed = client(Holdfast.builder().store(memory).observer(new BlockingObserver()));
        Lease lease = observed.lock("renewed").acquire();
        pass(LEASE.multipliedBy(2));
        assertThat(lease.isValid()).isTrue();
        dead.countDown();
        lease.release();
    }

    @Test
    void anObserverThatBlocksDelaysNoClose() {
        BlockingObserver observer = new BlockingObserver();
        Holdfast observed = client(Holdfast.builder().store(memory).observer(observer));
        a.run(observed.lock("closed")::lock);
        clock.advanceAndSettle(LEASE.dividedBy(3));
        Wait.until("the observer blocks", () -> observer.entered.getCount() == 0);
        a.run(observed::close);
        assertThat(isUnused("closed")).isTrue();
    }

    @Test
    void codeOfUsersRunsOnABoundedNumberOfThreads() throws InterruptedException {
        AtomicInteger inside = new AtomicInteger();
        List<Lease> held = new ArrayList<>();
        List<CompletableFuture<Void>> done = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            held.add(rival.lock("many" + i).acquire());
            done.add(locks.lock("many" + i).acquireAsync().thenAccept(lease -> {
                inside.incrementAndGet();
                awaitEnd(dead);
                lease.release();
            }));
        }
        clock.settle();
        held.forEach(Lease::release);
        Wait.until("many callbacks block", () -> inside.get() >= 64);
        // All call-backs are handed over then, to whatever threads there are.
        clock.settle();
        assertThat(inside).hasValue(64);
        dead.countDown();
        done.forEach(Actor::end);
    }
}
