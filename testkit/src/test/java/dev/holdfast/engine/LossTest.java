package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/**
 * Tests of the states SAFE, IN_DOUBT and LOST. The local clock decides them, whatever the store does, and LOST is
 * final.
 */
class LossTest extends EngineFixture {

    private final DistributedLock lock = locks.lock("loss");

    private static CompletableFuture<LossReason> reasonOf(Lease lease) {
        CompletableFuture<LossReason> reason = new CompletableFuture<>();
        lease.onLost(reason::complete);
        return reason;
    }

    private static void assertLost(Lease lease, LossReason reason) {
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::release)
                .withMessageContaining("loss")
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(reason));
    }

    /** The connection to the store is cut, so every renewal is lost. */
    @Test
    void aPartitionLeadsFromSafeOverInDoubtToStoreUnreachable() throws InterruptedException {
        Lease lease = lock.acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        network.partition();
        pass(Duration.ofSeconds(15));
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        pass(Duration.ofMillis(1));
        assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
        assertThat(lease.isValid()).as("still held by the local clock").isTrue();
        assertThat(lease.remaining()).isBetween(Duration.ofSeconds(14), Duration.ofSeconds(15));
        pass(Duration.ofMillis(14_696));
        assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
        assertThat(reported).isNotDone();
        clock.advance(Duration.ofMillis(1));
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        assertThat(Actor.end(reported)).isEqualTo(LossReason.STORE_UNREACHABLE);
        assertLost(lease, LossReason.STORE_UNREACHABLE);
        network.heal();
        clock.advanceUntil("what was lost is released", Duration.ofMillis(100), () -> isUnused("loss"));
    }

    @Test
    void aPartitionThatEndsInTimeLeadsBackToSafe() throws InterruptedException {
        Lease lease = lock.acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        network.partition();
        pass(Duration.ofSeconds(25));
        assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
        network.heal();
        pass(Duration.ofSeconds(3));
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        pass(Duration.ofSeconds(60));
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        assertThat(reported).isNotDone();
        lease.release();
    }

    /** The renewal never returns and blocks its thread. The timer runs on another thread. */
    @Test
    void aRenewalThatBlocksItsThreadDelaysNoLoss() throws InterruptedException {
        CountDownLatch renewing = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Holdfast mine = client(new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                renewing.countDown();
                try {
                    end.await();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                }
                return super.renew(claims);
            }
        });
        Lease lease = mine.lock("loss").acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        clock.advance(Duration.ofSeconds(10));
        renewing.await();
        clock.advance(Duration.ofMillis(5_001));
        assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
        clock.advance(Duration.ofSeconds(15));
        assertThat(Actor.end(reported)).isNotNull();
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        end.countDown();
    }

    /** The store did not answer, and this process was not paused. The advice in the message depends on that. */
    @Test
    void aStoreThatNeverAnswersIsUnreachable() throws InterruptedException {
        Lease lease = lock.acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        for (int i = 0; i < 100; i++) {
            network.next(Verb.RENEW, Fault.HANG);
        }
        pass(Duration.ofSeconds(15).plusMillis(1));
        assertThat(lease.state()).isEqualTo(LeaseState.IN_DOUBT);
        pass(Duration.ofSeconds(15));
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        assertThat(Actor.end(reported)).isEqualTo(LossReason.STORE_UNREACHABLE);
        awaitUnused("loss");
    }

    /**
     * A pause, by SIGSTOP or a long garbage collection: when the process runs again, its lock is invalid before any
     * round trip.
     */
    @Test
    void aPauseBeyondTheLeaseEndsTheHoldAsExpired() throws InterruptedException {
        Lease lease = lock.acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        store.reset();
        clock.advance(Duration.ofMinutes(5));
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThat(Actor.end(reported)).isEqualTo(LossReason.EXPIRED);
        assertLost(lease, LossReason.EXPIRED);
        awaitUnused("loss");
    }

    /** The outage was over, and a renewal had worked since. */
    @Test
    void aPauseAfterAnOutageEndsTheHoldAsExpired() throws InterruptedException {
        Lease lease = lock.acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        network.partition();
        pass(Duration.ofSeconds(12));
        network.heal();
        pass(Duration.ofSeconds(3));
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(25));
        clock.advance(Duration.ofMinutes(5));
        assertThat(Actor.end(reported)).isEqualTo(LossReason.EXPIRED);
        assertLost(lease, LossReason.EXPIRED);
        awaitUnused("loss");
    }

    @Test
    void aPauseWithinTheLeaseIsRepairedByTheNextRenewal() throws InterruptedException {
        Lease lease = lock.acquire();
        clock.advance(Duration.ofSeconds(29));
        Wait.until("it was renewed", () -> lease.remaining().compareTo(Duration.ofSeconds(20)) > 0);
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        lease.release();
    }

    /**
     * The store's clock was faster than allowed, or the store lost its data. So another client holds what this
     * client believes to hold.
     */
    @Test
    void aRenewalThatFindsAnotherHolderEndsTheHoldAsTaken() throws InterruptedException {
        ForwardingStore forgetful = new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                return CompletableFuture.completedStage(claims.stream()
                        .map(claim -> (Renewed) new Renewed.Gone(Renewed.Reason.TAKEN))
                        .toList());
            }
        };
        Lease lease = client(forgetful).lock("loss").acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        clock.advance(Duration.ofSeconds(10));
        assertThat(Actor.end(reported)).isEqualTo(LossReason.TAKEN);
        assertLost(lease, LossReason.TAKEN);
        rival.lock("loss").forceRelease();
    }

    /** The answer is about another grant: the same id was granted again after the first grant was lost. */
    @Test
    void aRenewalThatFindsAnotherCounterEndsTheHoldAsTaken() throws InterruptedException {
        ForwardingStore restored = new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                return super.renew(claims)
                        .thenApply(answers -> answers.stream()
                                .map(answer -> answer instanceof Granted held
                                        ? new Granted(held.counter() + 1, held.lease())
                                        : answer)
                                .toList());
            }
        };
        Lease lease = client(restored).lock("loss").acquire();
        clock.advance(Duration.ofSeconds(10));
        assertThat(Actor.end(reasonOf(lease))).isEqualTo(LossReason.TAKEN);
        assertLost(lease, LossReason.TAKEN);
        rival.lock("loss").forceRelease();
    }

    @Test
    void aForcedReleaseByAnotherClientIsReportedAsBroken() throws InterruptedException {
        Lease lease = lock.acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        assertThat(rival.lock("loss").forceRelease()).isEqualTo(1);
        clock.advance(Duration.ofSeconds(10));
        assertThat(Actor.end(reported)).isEqualTo(LossReason.BROKEN);
        assertLost(lease, LossReason.BROKEN);
    }

    @Test
    void aReleaseThatFindsTheClaimBrokenSaysSo() throws InterruptedException {
        Lease lease = lock.acquire();
        rival.lock("loss").forceRelease();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::release)
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(LossReason.BROKEN));
    }

    /** Exactly the claim that was inspected is broken, and not the claim of the next holder. */
    @Test
    void breakingAClaimThatWasSeenTouchesNoLaterOne() throws InterruptedException {
        Lease first = lock.acquire();
        var seen = rival.state("loss").orElseThrow().holders().get(0);
        first.release();
        Lease second = lock.acquire();
        assertThat(rival.forceRelease(seen)).isFalse();
        pass(Duration.ofSeconds(10));
        assertThat(second.isValid()).isTrue();
        second.release();
    }

    @Test
    void lostIsFinalAndALateRenewalReleasesWhatItRevived() throws InterruptedException {
        Lease lease = lock.acquire();
        network.next(Verb.RENEW, Fault.HANG_REPLY);
        clock.advance(Duration.ofSeconds(10));
        Wait.until("the renewal works, but its reply is late", () -> network.hanging() == 1);
        for (int i = 0; i < 100; i++) {
            network.next(Verb.RENEW, Fault.DROP_REQUEST);
        }
        pass(Duration.ofSeconds(20));
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        network.letGo();
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        assertThat(lease.remaining()).isZero();
        awaitUnused("loss");
        assertThat(b.get(() -> rival.lock("loss").tryLock())).isTrue();
        b.run(rival.lock("loss")::unlock);
    }

    /**
     * The reply comes when the lease that it prolongs is over by the local clock, but before the timer has checked
     * it.
     */
    @Test
    void aReplyThatComesAfterTheDeadlineRevivesNothing() throws InterruptedException {
        Lease lease = lock.acquire();
        network.next(Verb.RENEW, Fault.HANG_REPLY);
        clock.advance(Duration.ofSeconds(10));
        Wait.until("the renewal works, but its reply is late", () -> network.hanging() == 1);
        Runnable goOn = clock.holdBack("holdfast-losses");
        try {
            clock.advance(Duration.ofSeconds(20));
            network.letGo();
            assertThat(lease.isValid()).isFalse();
        } finally {
            goOn.run();
        }
        awaitUnused("loss");
    }

    @Test
    void afterALossTheThreadMayLockAnewOnceItHasUnlocked() {
        DistributedLock fixed = locks.lock("loss", LockOptions.defaults().withFixedLease(LEASE));
        a.run(fixed::lock);
        long token = a.get(fixed::token);
        clock.advance(LEASE);
        Actor.failure(LockLostException.class, a.begin(fixed::lock));
        b.run(lock::lock);
        assertThat(b.get(lock::token)).isGreaterThan(token);
        Actor.failure(LockLostException.class, a.begin(fixed::unlock));
        assertThat(b.get(lock::isHeldByCurrentThread)).isTrue();
        b.run(lock::unlock);
        a.run(fixed::lock);
        a.run(fixed::unlock);
    }

    @Test
    void aLossWakesTheNextLocalWaiter() {
        DistributedLock fixed = locks.lock("loss", LockOptions.defaults().withFixedLease(LEASE));
        Lease lease = a.get(() -> fixed.acquire());
        CompletableFuture<Void> waiting = b.parkIn(fixed::lock);
        pass(LEASE);
        Actor.end(waiting);
        assertThat(lease.isValid()).isFalse();
        b.run(fixed::unlock);
    }

    /** Another client gets the lock as soon as the client that lost it knows of the loss. */
    @Test
    void aLossFreesTheStoreBeforeTheStoreWouldHaveExpiredIt() {
        DistributedLock fixed = locks.lock("loss", LockOptions.defaults().withFixedLease(LEASE));
        Lease lease = a.get(() -> fixed.acquire());
        CompletableFuture<Void> waiting = c.parkIn(rival.lock("loss")::lock);
        pass(Duration.ofMillis(29_698));
        Actor.end(waiting);
        assertThat(lease.isValid()).isFalse();
        c.run(rival.lock("loss")::unlock);
    }
}
