package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Engines;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.internal.cohort.CohortLocks;
import dev.holdfast.spi.LockName;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Tests of losses that the engine can know of by itself, of their reasons, and of doubt. */
class KnownLossTest extends EngineFixture {

    private final DistributedLock lock = locks.lock("known");

    /** Somebody breaks the lock, and another thread of the same client gets it before the next renewal of the first. */
    @Test
    void anOlderLeaseIsLostAtOnceWhenTheStoreGrantsTheNameAgain() {
        Lease older = a.get(lock::acquire);
        handOffTimeIsOver();
        CompletableFuture<Lease> waiting = b.park(lock::acquire);
        assertThat(rival.lock("known").forceRelease()).isEqualTo(1);
        Lease newer = Actor.end(waiting);
        assertThat(older.state()).isEqualTo(LeaseState.LOST);
        assertThat(Actor.failure(LockLostException.class, a.start(() -> {
                            older.release();
                            return true;
                        }))
                        .reason())
                .isEqualTo(LossReason.BROKEN);
        assertThat(newer.isValid()).isTrue();
        newer.release();
    }

    /** The store grants the lock to a thread that waits here before the release that breaks it has returned. */
    @Test
    void whatThisClientBreaksIsBrokenAlsoIfAnotherThreadOfItGetsIt() {
        Queue<LossReason> reasons = new ConcurrentLinkedQueue<>();
        Lease broken = a.get(lock::acquire);
        broken.onLost(reasons::add);
        handOffTimeIsOver();
        CompletableFuture<Lease> waiting = b.park(lock::acquire);
        assertThat(locks.lock("known").forceRelease()).isEqualTo(1);
        assertThat(broken.state()).isEqualTo(LeaseState.LOST);
        Wait.until("the loss is reported", () -> !reasons.isEmpty());
        assertThat(reasons).containsExactly(LossReason.BROKEN);
        Actor.failure(LockLostException.class, a.begin(broken::release));
        Actor.end(waiting).release();
    }

    @Test
    void aLeaseWhoseRenewalsAreNotAnsweredIsLostBecauseTheStoreIsUnreachable() {
        Queue<LossReason> reasons = new ConcurrentLinkedQueue<>();
        Lease lease = a.get(lock::acquire);
        lease.onLost(reasons::add);
        network.next(Verb.RENEW, Fault.HANG);
        clock.advanceAndSettle(LEASE.dividedBy(3));
        assertThat(network.hanging()).isEqualTo(1);
        // Time goes on in one step, so that no second renewal is sent before the end.
        clock.advance(LEASE);
        Wait.until("the loss is reported", () -> !reasons.isEmpty());
        assertThat(reasons).containsExactly(LossReason.STORE_UNREACHABLE);
        network.letGo();
        Actor.failure(LockLostException.class, a.begin(lease::release));
    }

    /** The release is sent in time, and reaches the store when the lease is over, but before the holder gives it up. */
    @Test
    void aReleaseThatComesLateIsNoLoss() {
        Duration shortLease = Duration.ofSeconds(5);
        DistributedLock fixed = locks.lock("known", LockOptions.defaults().withFixedLease(shortLease));
        Lease lease = a.get(fixed::acquire);
        network.delayBy(shortLease).next(Verb.RELEASE, Fault.DELAY);
        CompletableFuture<Void> releasing = a.begin(lease::release);
        Wait.until("the release is under way", () -> clock.isParked(a.thread()));
        clock.advance(shortLease);
        Actor.end(releasing);
        assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
    }

    @Test
    void doubtIsReportedEachTimeItBegins() {
        Queue<Duration> doubts = new ConcurrentLinkedQueue<>();
        Lease lease = a.get(lock::acquire);
        lease.onInDoubt(doubts::add);
        for (int i = 1; i <= 2; i++) {
            int times = i;
            // The second one is the repetition of the first, which is not answered.
            network.next(Verb.RENEW, Fault.HANG, Fault.HANG);
            clock.advanceAndSettle(LEASE.dividedBy(3));
            assertThat(doubts).hasSize(i - 1);
            // Settled, so that the repetition is on its way too: else the next doubt would count from the first one.
            clock.advanceAndSettle(LEASE.dividedBy(6).plusMillis(1));
            Wait.until("doubt " + i + " is reported", () -> doubts.size() == times);
            assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
            network.letGo();
            clock.advanceUntil(
                    "the lease is safe again", Duration.ofMillis(100), () -> lease.state() == LeaseState.SAFE);
        }
        assertThat(doubts).allMatch(left -> left.compareTo(Duration.ZERO) > 0 && left.compareTo(LEASE) < 0);
        lease.release();
    }

    /** Whether the members come to be in doubt together or one after the other. */
    @Test
    void doubtAboutSeveralNamesIsReportedOnceAndWithTheLeastTime() {
        Queue<Duration> doubts = new ConcurrentLinkedQueue<>();
        c.run(rival.lock("known later")::lock);
        CompletableFuture<Lease> waiting =
                a.park(() -> locks.multiLock("known", "known later").acquire());
        pass(Duration.ofMillis(5_500));
        c.run(rival.lock("known later")::unlock);
        Lease lease = Actor.end(waiting);
        pass(Duration.ofMillis(15_500));
        lease.onInDoubt(doubts::add);
        for (int i = 1; i <= 2; i++) {
            network.partition();
            clock.advanceUntil("it is in doubt", Duration.ofMillis(100), () -> lease.state() == LeaseState.IN_DOUBT);
            Duration least = lease.remaining();
            pass(Duration.ofSeconds(8));
            assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
            awaitCallbacks(locks);
            assertThat(doubts).hasSize(i);
            assertThat(List.copyOf(doubts).get(i - 1)).isEqualTo(least);
            List<Duration> late = new CopyOnWriteArrayList<>();
            lease.onInDoubt(late::add);
            awaitCallbacks(locks);
            assertThat(late).hasSize(1);
            network.heal();
            clock.advanceUntil(
                    "the lease is safe again", Duration.ofMillis(100), () -> lease.state() == LeaseState.SAFE);
            awaitCallbacks(locks);
        }
        a.run(lease::release);
    }

    /** A thread that has died cannot unlock: its lock is renewed no more, and others get it when the lease is over. */
    @Test
    void theLockOfADeadThreadIsLostWhenItsLeaseIsOver() throws InterruptedException {
        Thread dying = new Thread(lock::lock);
        dying.start();
        dying.join();
        CompletableFuture<Void> waiting = c.parkIn(rival.lock("known")::lock);
        pass(LEASE.multipliedBy(2));
        Actor.end(waiting);
        c.run(rival.lock("known")::unlock);
    }

    /** The thread lives when its hold is lost, and dies without having unlocked. */
    @Test
    void whatADeadThreadHasLostIsForgotten() throws InterruptedException {
        DistributedLock fixed = locks.lock("known", LockOptions.defaults().withFixedLease(LEASE));
        CountDownLatch mayDie = new CountDownLatch(1);
        CountDownLatch holds = new CountDownLatch(1);
        Thread dying = new Thread(() -> {
            fixed.lock();
            holds.countDown();
            try {
                mayDie.await();
            } catch (InterruptedException early) {
                Thread.currentThread().interrupt();
            }
        });
        dying.start();
        holds.await();
        clock.advanceAndSettle(LEASE);
        CohortLocks names = Engines.of(locks).locks();
        assertThat(names.peek(new LockName("known"))).isNotNull();
        mayDie.countDown();
        dying.join();
        clock.advanceAndSettle(LEASE);
        assertThat(names.peek(new LockName("known"))).isNull();
    }

    @Test
    void theOwnerThatPeopleSeeIsTheThreadThatHoldsAfterAHandOff() {
        a.run(lock::lock);
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        a.run(lock::unlock);
        Actor.end(waiting);
        pass(LEASE.dividedBy(3));
        assertThat(lock.state().orElseThrow().holders().get(0).claim().owner().thread())
                .isEqualTo(b.thread().getName());
        b.run(lock::unlock);
    }

    /** A search for deadlocks needs it, and need not wait for the first refresh. */
    @Test
    void whatAThreadHoldsIsSeenAsSoonAsItWaits() {
        c.run(rival.lock("known")::lock);
        a.run(locks.lock("other")::lock);
        CompletableFuture<Void> waiting = a.parkIn(lock::lock);
        assertThat(lock.state().orElseThrow().waiters().get(0).claim().owner().held())
                .containsExactly("other");
        c.run(rival.lock("known")::unlock);
        Actor.end(waiting);
        a.run(lock::unlock);
        a.run(locks.lock("other")::unlock);
    }
}
