package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests that a wait that has ended has ended in the store, too, and costs nothing there. */
class EndOfWaitTest extends EngineFixture {

    private static final LockOptions SPIN = LockOptions.defaults().withSpin(true);
    private static final int REPEATS = 200;

    private final DistributedLock lock = locks.lock("ended");
    private final DistributedLock other = rival.lock("ended");

    @Test
    void nothingWaitsInTheStoreWhenATimedWaitHasReturned() {
        c.run(other::lock);
        for (int i = 0; i < REPEATS; i++) {
            CompletableFuture<Boolean> waiting = a.park(() -> lock.tryLock(5, TimeUnit.MILLISECONDS));
            clock.advance(Duration.ofMillis(5));
            assertThat(Actor.end(waiting)).isFalse();
            assertThat(waiters("ended")).as("after wait " + i).isZero();
        }
        c.run(other::unlock);
    }

    @Test
    void nothingWaitsInTheStoreWhenAnInterruptedWaitHasReturned() {
        c.run(other::lock);
        for (int i = 0; i < REPEATS; i++) {
            CompletableFuture<Void> waiting = a.parkIn(lock::lockInterruptibly);
            a.interrupt();
            Actor.failure(InterruptedException.class, waiting);
            assertThat(waiters("ended")).as("after wait " + i).isZero();
        }
        c.run(other::unlock);
    }

    @Test
    void nothingWaitsInTheStoreWhenAFutureHasTimedOut() {
        c.run(other::lock);
        for (int i = 0; i < REPEATS; i++) {
            CompletableFuture<?> waiting = lock.acquireAsync(Duration.ofMillis(5));
            clock.settle();
            clock.advance(Duration.ofMillis(5));
            Actor.failure(LockTimeoutException.class, waiting);
            assertThat(waiters("ended")).as("after wait " + i).isZero();
        }
        c.run(other::unlock);
    }

    /** Of the holders it names those that need no trip to the store. */
    @Test
    void theErrorOfAWaitWhoseTimeIsOverNamesItsLengthAndTheHolders() {
        c.run(other::lock);
        CompletableFuture<Lease> elsewhere = a.park(() -> lock.acquire(Duration.ofMillis(5)));
        clock.advance(Duration.ofMillis(5));
        assertThat(Actor.failure(LockTimeoutException.class, elsewhere))
                .hasMessageContainingAll("Lock \"ended\" was not free within 5 ms", locks.clientId(), "state(name)")
                .hasMessageNotContaining("Holders");
        c.run(other::unlock);

        c.run(lock::lock);
        String holder = "Holders in this client: " + locks.clientId();
        CompletableFuture<Lease> here = a.park(() -> lock.acquire(Duration.ofMillis(7)));
        clock.advance(Duration.ofMillis(7));
        store.reset();
        assertThat(Actor.failure(LockTimeoutException.class, here))
                .hasMessageContainingAll("within 7 ms", holder, "thread C");
        assertThat(Actor.failure(LockTimeoutException.class, lock.acquireAsync(Duration.ZERO)))
                .hasMessageContainingAll("within 0 ms", holder, "thread C");
        assertThat(store.count(Verb.INSPECT)).isZero();
        DistributedLock several = locks.multiLock("free", "ended");
        assertThat(Actor.failure(LockTimeoutException.class, a.start(() -> several.acquire(Duration.ZERO))))
                .hasMessageContainingAll(
                        "Not all of the locks \"ended,free\" were free within 0 ms", holder, "thread C");
        assertThat(Actor.failure(LockTimeoutException.class, several.acquireAsync(Duration.ZERO)))
                .hasMessageContainingAll(
                        "Not all of the locks \"ended,free\" were free within 0 ms", holder, "thread C");
        c.run(lock::unlock);
    }

    @Test
    void aSpinningWaitThatIsGivenUpHasNothingToRelease() {
        c.run(other::lock);
        DistributedLock spinning = locks.lock("ended", SPIN);
        store.reset();
        for (int i = 0; i < 20; i++) {
            CompletableFuture<Boolean> waiting = a.park(() -> spinning.tryLock(1, TimeUnit.MILLISECONDS));
            clock.advanceAndSettle(Duration.ofMillis(1));
            assertThat(Actor.end(waiting)).isFalse();
        }
        clock.settle();
        assertThat(store.count(Verb.RELEASE)).isZero();
        c.run(other::unlock);
    }

    /** The grant is too old to be passed on, so that it goes back to the store, where nobody has a queue. */
    @Test
    void aReleaseWakesALocalWaiterThatSpins() {
        DistributedLock spinning = locks.lock("ended", SPIN);
        a.run(spinning::lock);
        clock.advance(HAND_OFF_TIME);
        CompletableFuture<Void> waiting = b.parkIn(spinning::lock);
        for (int i = 0; i < 8; i++) {
            // Each attempt is followed by a longer pause.
            clock.advanceAndSettle(Duration.ofMillis(100));
        }
        a.run(spinning::unlock);
        Actor.end(waiting);
        b.run(spinning::unlock);
    }

    /** The attempt finds the lock held, and its answer comes after the hint that the lock is free. */
    @Test
    void aHintThatComesWhileAnAttemptIsUnderWayIsNotLost() {
        NoQueueStore bare = new NoQueueStore(network);
        DistributedLock mine = client(bare).lock("ended");
        DistributedLock theirs = client(bare).lock("ended");
        c.run(theirs::lock);
        CompletableFuture<Void> waiting = a.parkIn(mine::lock);
        network.next(Verb.TRY_ACQUIRE, Fault.HANG_REPLY);
        clock.advanceAndSettle(Duration.ofMillis(20));
        assertThat(network.hanging()).isEqualTo(1);
        c.run(theirs::unlock);
        network.letGo();
        // No time passes, so that no pause can end.
        Actor.end(waiting);
        a.run(mine::unlock);
    }

    /** A store in which the first request to wait is under way until the test lets it go. */
    private final class BlockingStore extends ForwardingStore {

        private final CountDownLatch entered = new CountDownLatch(1);
        private final CountDownLatch mayLeave = new CountDownLatch(1);

        private BlockingStore() {
            super(network);
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            if (entered.getCount() > 0) {
                entered.countDown();
                Wait.until("the test lets the request go", () -> mayLeave.getCount() == 0);
            }
            return super.enqueue(claim, listener);
        }

        /** A thread waits for the lock, and will be refused for good. Meanwhile another one has the lock. */
        private CompletableFuture<Void> refusedWait(DistributedLock mine) {
            network.next(Verb.TRY_ACQUIRE, Fault.HANG);
            CompletableFuture<Boolean> trying = b.park(() -> mine.tryLock());
            CompletableFuture<Void> waiting = a.begin(mine::lock);
            Wait.until("the request is under way", () -> entered.getCount() == 0);
            network.letGo();
            assertThat(Actor.end(trying)).isTrue();
            return waiting;
        }

        private void refuse() {
            network.next(Verb.ENQUEUE, Fault.REJECT);
            mayLeave.countDown();
        }
    }

    /** The thread is inside the store while another thread passes it a grant. */
    @Test
    void aGrantThatWasPassedToARefusedWaiterIsReleased() {
        BlockingStore blocking = new BlockingStore();
        DistributedLock mine = client(blocking).lock("ended");
        CompletableFuture<Void> waiting = blocking.refusedWait(mine);
        b.run(mine::unlock);
        assertThat(holders("ended")).as("passed on to the waiter").isEqualTo(1);
        blocking.refuse();
        Actor.failure(StoreUnavailableException.class, waiting);
        awaitUnused("ended");
    }

    /** The same with a future behind the thread, which takes over the grant, and so is not refused. */
    @Test
    void aGrantThatWasPassedToARefusedWaiterGoesToTheNext() {
        BlockingStore blocking = new BlockingStore();
        DistributedLock mine = client(blocking).lock("ended");
        CompletableFuture<Void> waiting = blocking.refusedWait(mine);
        CompletableFuture<Lease> next = mine.acquireAsync();
        b.run(mine::unlock);
        blocking.refuse();
        Actor.failure(StoreUnavailableException.class, waiting);
        Actor.end(next).release();
        awaitUnused("ended");
    }

    /** The store answers the attempt that was granted at once, however long the attempts before it took. */
    @Test
    void aSpinningLeaseCountsFromItsOwnAttempt() {
        c.run(other::lock);
        DistributedLock spinning = locks.lock("ended", SPIN);
        CompletableFuture<Lease> waiting = a.park(spinning::acquire);
        pass(Duration.ofSeconds(20));
        store.reset();
        c.run(other::unlock);
        pass(Duration.ofMillis(500));
        Lease lease = Actor.end(waiting);
        assertThat(lease.remaining()).isGreaterThan(LEASE.minusSeconds(2));
        assertThat(store.count(Verb.RENEW)).isZero();
        a.run(lease::release);
    }

    /** A copy of the first request may still be on its way, so that the claim is ended in the store before another is made. */
    @Test
    void aRepeatedClaimThatIsGoneIsReleased() {
        c.run(other::lock);
        network.next(Verb.ENQUEUE, Fault.DROP_REPLY);
        CompletableFuture<Void> waiting = a.parkIn(lock::lock);
        clock.advanceUntil("the claim waits", Duration.ofMillis(20), () -> waiters("ended") == 1);
        store.reset();
        rival.forceRelease(rival.state("ended").orElseThrow().waiters().get(0));
        clock.advanceUntil("it waits again", Duration.ofMillis(20), () -> waiters("ended") == 1);
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        c.run(other::unlock);
        Actor.end(waiting);
        a.run(lock::unlock);
    }

    /**
     * A store whose release answers with the claims that it has granted, as those of servers do. One of its releases can be
     * made to hang.
     */
    private final class AnsweringStore extends ForwardingStore {

        private final AtomicInteger releasesBefore = new AtomicInteger(Integer.MAX_VALUE);
        private final CountDownLatch mayEnd = new CountDownLatch(1);

        private AnsweringStore() {
            super(store);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            if (releasesBefore.getAndDecrement() == 0) {
                Wait.until("the test lets the release go", () -> mayEnd.getCount() == 0);
            }
            List<ClaimId> before =
                    holdersOf(claim).map(held -> held.claim().id()).toList();
            return super.release(claim).thenApply(released -> {
                List<Released.Handed> granted = holdersOf(claim)
                        .filter(held -> !before.contains(held.claim().id()))
                        .map(held ->
                                new Released.Handed(held.claim().id(), new Granted(held.counter(), held.remaining())))
                        .toList();
                return new Released(released.wasOwner(), granted);
            });
        }

        private Stream<ResourceState.Entry> holdersOf(Claim claim) {
            return memory.inspect(claim.name()).toCompletableFuture().join().stream()
                    .flatMap(state -> state.holders().stream());
        }
    }

    private final AnsweringStore answering = new AnsweringStore();
    private final DistributedLock mine = client(answering).lock("ended");

    /** Waits in vain. The release of the claim is on its way until the test lets it go. */
    private void leaveDeadClaim() {
        network.next(Verb.RELEASE, Fault.HANG);
        int before = waiters("ended");
        CompletableFuture<Boolean> waiting = b.park(() -> mine.tryLock(50, TimeUnit.MILLISECONDS));
        awaitWaiters("ended", before + 1);
        clock.advanceUntil("the wait ends", Duration.ofMillis(50), waiting::isDone);
        assertThat(Actor.end(waiting)).isFalse();
        assertThat(waiters("ended")).as("claims nobody waits for").isEqualTo(before + 1);
    }

    /** One thread holds the lock, and behind it are claims of this client nobody waits for any more. */
    private void holdBefore(int deadClaims) {
        a.run(mine::lock);
        handOffTimeIsOver();
        for (int i = 0; i < deadClaims; i++) {
            leaveDeadClaim();
        }
        store.reset();
    }

    @Test
    void aReleaseThatGrantsClaimsNobodyWaitsForEndsThemBeforeItReturns() {
        for (int i = 0; i < REPEATS; i++) {
            holdBefore(2);
            a.run(mine::unlock);
            assertThat(isUnused("ended")).as("after round " + i).isTrue();
            assertThat(store.count(Verb.RELEASE)).isEqualTo(3);
            network.letGo();
        }
    }

    @Test
    void whatIsBehindClaimsNobodyWaitsForIsGrantedBeforeTheReleaseReturns() {
        holdBefore(2);
        CompletableFuture<Void> waiting = c.parkIn(other::lock);
        awaitWaiters("ended", 3);
        a.run(mine::unlock);
        assertThat(waiters("ended")).isZero();
        Actor.end(waiting);
        c.run(other::unlock);
    }

    /** The seventeenth in a row is not waited for. Its release hangs here. */
    @Test
    void aReleaseWaitsForTheEndOfSixteenClaimsNobodyWaitsForAndNoMore() {
        int most = 16;
        holdBefore(most + 1);
        answering.releasesBefore.set(most + 1);
        a.run(mine::unlock);
        assertThat(holders("ended")).as("the last one is granted").isEqualTo(1);
        assertThat(waiters("ended")).isZero();
        answering.mayEnd.countDown();
        awaitUnused("ended");
    }
}
