package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** An exclusive grant is passed from thread to thread of one JVM without a round trip, within bounds. */
class LocalHandOffTest extends EngineFixture {

    private static final int MOST = 1_023;

    private final DistributedLock lock = locks.lock("baton");

    @Test
    void aHandOffMakesNoTripAndHasALargerToken() {
        a.run(lock::lock);
        long first = a.get(lock::token);
        CompletableFuture<Void> next = b.parkIn(lock::lock);
        store.reset();

        a.run(lock::unlock);
        Actor.end(next);
        assertThat(store.counts()).isEmpty();
        assertThat(b.get(lock::token)).isEqualTo(first + 1);
        assertThat(a.get(lock::isHeldByCurrentThread)).isFalse();

        b.run(lock::unlock);
        assertThat(store.counts()).containsOnlyKeys(Verb.RELEASE);
        assertThat(isUnused("baton")).isTrue();
    }

    /**
     * After that other processes get their turn: the store gets a release, and a new claim that queues behind
     * theirs.
     */
    @Test
    void aGrantIsPassedOnAtMost1023TimesAndThenGoesBackToTheStore() {
        a.run(lock::lock);
        long first = a.get(lock::token);
        store.reset();
        Actor holder = a;
        Actor next = b;
        for (int i = 1; i <= MOST; i++) {
            CompletableFuture<Void> waiting = next.parkIn(lock::lock);
            holder.run(lock::unlock);
            Actor.end(waiting);
            Actor swap = holder;
            holder = next;
            next = swap;
        }
        assertThat(store.counts()).isEmpty();
        assertThat(holder.get(lock::token)).isEqualTo(first + MOST);

        CompletableFuture<Void> waiting = next.parkIn(lock::lock);
        holder.run(lock::unlock);
        Actor.end(waiting);
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(1);
        assertThat(next.get(lock::token)).isGreaterThan(first + MOST);
        assertThat(next.get(lock::token) % 1_024).as("the k of a new grant").isZero();
        next.run(lock::unlock);
    }

    @Test
    void aGrantIsPassedOnForAtMostTenMillisecondsAndThenGoesToAnotherProcessThatWaits() {
        DistributedLock theirs = rival.lock("baton");
        a.run(lock::lock);
        CompletableFuture<Void> remote = c.parkIn(theirs::lock);
        CompletableFuture<Void> local = b.parkIn(lock::lock);
        clock.advance(HAND_OFF_TIME.minusNanos(1));
        a.run(lock::unlock);
        Actor.end(local);
        assertThat(remote).isNotDone();

        CompletableFuture<Void> late = a.parkIn(lock::lock);
        clock.advance(Duration.ofNanos(1));
        b.run(lock::unlock);
        Actor.end(remote);
        assertThat(late).isNotDone();
        c.run(theirs::unlock);
        Actor.end(late);
        a.run(lock::unlock);
    }

    @Test
    void theBoundsAreSettings() {
        Holdfast once = client(Holdfast.builder().store(store).handOffs(1).handOffTime(Duration.ofHours(1)));
        DistributedLock mine = once.lock("baton", LockOptions.defaults().withLease(Duration.ofHours(24)));
        a.run(mine::lock);
        CompletableFuture<Void> second = b.parkIn(mine::lock);
        clock.advance(Duration.ofMinutes(59));
        store.reset();
        a.run(mine::unlock);
        Actor.end(second);
        assertThat(store.count(Verb.RELEASE)).isZero();

        CompletableFuture<Void> third = a.parkIn(mine::lock);
        b.run(mine::unlock);
        Actor.end(third);
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        a.run(mine::unlock);
    }

    @Test
    void handOffsCanBeTurnedOff() {
        for (Holdfast.Builder settings : new Holdfast.Builder[] {
            Holdfast.builder().store(store).handOffs(0),
            Holdfast.builder().store(store).handOffTime(Duration.ZERO)
        }) {
            DistributedLock mine = client(settings).lock("baton");
            assertGoesThroughTheStore(mine, mine);
        }
    }

    @Test
    void noHandOffToAWaiterWithAnotherLease() {
        assertGoesThroughTheStore(
                lock, locks.lock("baton", LockOptions.defaults().withLease(Duration.ofSeconds(31))));
    }

    @Test
    void noHandOffToAWaiterWithAnotherRenewalMode() {
        assertGoesThroughTheStore(
                lock, locks.lock("baton", LockOptions.defaults().withFixedLease(LEASE)));
    }

    @Test
    void noHandOffToAWaiterWithOtherPermits() {
        DistributedLock write = locks.readWriteLock("baton").writeLock();
        DistributedLock read = locks.readWriteLock("baton").readLock();
        assertGoesThroughTheStore(write, read);
    }

    @Test
    void noHandOffWhereTheLockIsFair() {
        LockOptions fair = LockOptions.defaults().withFair(true);
        assertGoesThroughTheStore(locks.lock("baton", fair), locks.lock("baton", fair));
        assertGoesThroughTheStore(lock, locks.lock("baton", fair));
        assertGoesThroughTheStore(locks.lock("baton", fair), lock);
    }

    private void assertGoesThroughTheStore(DistributedLock held, DistributedLock wanted) {
        a.run(held::lock);
        long token = a.get(held::token);
        CompletableFuture<Void> waiting = b.parkIn(wanted::lock);
        store.reset();
        a.run(held::unlock);
        Actor.end(waiting);
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        assertThat(b.get(wanted::token) >> 10).isGreaterThan(token >> 10);
        b.run(wanted::unlock);
        awaitUnused("baton");
    }

    /** The hand-off time is one minute, so that only the remaining time of the lease decides. */
    @Test
    void noHandOffWhenLessThanTwoThirdsOfTheLeaseAreLeft() {
        Holdfast patient = client(Holdfast.builder().store(store).handOffTime(Duration.ofMinutes(1)));
        DistributedLock mine = patient.lock("baton", LockOptions.defaults().withFixedLease(LEASE));
        a.run(mine::lock);
        CompletableFuture<Void> second = b.parkIn(mine::lock);
        clock.advance(Duration.ofSeconds(10));
        store.reset();
        a.run(mine::unlock);
        Actor.end(second);
        assertThat(store.counts()).as("two thirds are left").isEmpty();

        CompletableFuture<Void> third = a.parkIn(mine::lock);
        clock.advance(Duration.ofMillis(1));
        b.run(mine::unlock);
        Actor.end(third);
        assertThat(store.count(Verb.RELEASE)).as("less is left").isEqualTo(1);
        a.run(mine::unlock);
    }

    @Test
    void noHandOffOfALostGrant() {
        DistributedLock fixed = locks.lock("baton", LockOptions.defaults().withFixedLease(LEASE));
        Lease lease = a.get(() -> fixed.acquire());
        CompletableFuture<Void> waiting = b.parkIn(fixed::lock);
        clock.advance(LEASE);
        Actor.failure(LockLostException.class, a.begin(lease::release));
        Actor.end(waiting);
        assertThat(b.get(fixed::token) >> 10).isGreaterThan(lease.token() >> 10);
        b.run(fixed::unlock);
    }

    /** The grant belongs to the JVM: a lease passes it to a thread, and a thread to a lease. */
    @Test
    void aLeaseAndAThreadPassTheGrantToEachOther() {
        Lease lease = a.get(() -> lock.acquire());
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        store.reset();
        lease.release();
        Actor.end(waiting);
        CompletableFuture<Lease> next = a.park(() -> lock.acquire());
        b.run(lock::unlock);
        assertThat(Actor.end(next).token()).isEqualTo(lease.token() + 2);
        assertThat(store.counts()).isEmpty();
        Actor.end(next).release();
    }

    /** A running thread may take the grant before a waiter has woken up, but only for one millisecond. */
    @Test
    void noRunningThreadPassesAWaiterThatWasPassedForAMillisecond() {
        for (int round = 0; round < 50; round++) {
            a.run(lock::lock);
            CompletableFuture<Void> waiting = b.parkIn(lock::lock);
            boolean passed = a.get(() -> {
                lock.unlock();
                return lock.tryLock();
            });
            if (passed) {
                clock.advance(Duration.ofNanos(1_000_001));
                assertThat(a.get(() -> {
                            lock.unlock();
                            return lock.tryLock();
                        }))
                        .isFalse();
            }
            Actor.end(waiting);
            b.run(lock::unlock);
        }
    }

    @Test
    void tryLockMakesNoTripWhileAThreadOfThisJvmHoldsTheLock() {
        a.run(lock::lock);
        store.reset();
        assertThat(b.get(() -> lock.tryLock())).isFalse();
        assertThat(b.get(() -> lock.tryAcquire())).isEmpty();
        assertThat(store.counts()).isEmpty();
        a.run(lock::unlock);
    }

    /**
     * A waiter gives up while the grant is idle between two holders. Then the grant goes back to the store, because
     * nobody needs it.
     */
    @Test
    void aGrantThatNobodyTakesGoesBack() throws InterruptedException {
        FaultyStore ownNetwork = new FaultyStore(memory);
        DistributedLock mine = client(ownNetwork).lock("baton");
        for (int round = 0; round < 50; round++) {
            a.run(mine::lock);
            CompletableFuture<Void> waiting = b.parkIn(mine::lockInterruptibly);
            CompletableFuture<Void> unlocking = a.begin(mine::unlock);
            b.interrupt();
            Actor.end(unlocking);
            waiting.handle((done, interrupted) -> null).join();
            b.run(() -> {
                if (mine.holdCount() > 0) {
                    mine.unlock();
                }
            });
            awaitUnused("baton");
        }
    }

    /** Its time at the head begins when it becomes the head, and not when the lock is passed to it. */
    @Test
    void aRunningThreadDoesNotPassAHeadThatHasWaitedLongEnough() {
        DistributedLock mine = locks.lock("head");
        a.run(mine::lock);
        CompletableFuture<Void> waiting = b.parkIn(mine::lock);
        clock.advance(Duration.ofMillis(5));
        assertThat(a.get(() -> {
                    mine.unlock();
                    return mine.tryLock();
                }))
                .isFalse();
        Actor.end(waiting);
        b.run(mine::unlock);
    }
}
