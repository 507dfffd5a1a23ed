package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.ChangedTraits;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Tests of leases: a lock as a handle, and how long it lasts. */
class LeaseTest extends EngineFixture {

    private final DistributedLock lock = locks.lock("lease");
    private final DistributedLock fixed =
            locks.lock("lease", LockOptions.defaults().withFixedLease(LEASE));

    @Test
    void anyThreadMayReleaseIt() {
        Lease lease = a.get(() -> lock.acquire());
        b.run(lease::release);
        assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThat(isUnused("lease")).isTrue();
    }

    @Test
    void aSecondReleaseDoesNothingAlsoWhenAnotherHoldsTheLock() throws InterruptedException {
        Lease lease = lock.acquire();
        lease.release();
        c.run(rival.lock("lease")::lock);
        store.reset();
        lease.release();
        lease.close();
        Actor.end(lease.releaseAsync());
        assertThat(store.total()).isZero();
        assertThat(holders("lease")).isEqualTo(1);
        c.run(rival.lock("lease")::unlock);
    }

    @Test
    void aReleaseAfterTheLossSaysSoOnce() throws InterruptedException {
        Lease lease = fixed.acquire();
        clock.advance(LEASE);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::release)
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(LossReason.EXPIRED))
                .withMessageContainingAll("lease", locks.clientId(), String.valueOf(lease.token()));
        assertThatCode(lease::release).doesNotThrowAnyException();
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    }

    @Test
    void aThreadExtendsWhatItHolds() {
        a.run(fixed::lock);
        a.run(() -> fixed.extend(LEASE.multipliedBy(2)));
        clock.advanceAndSettle(LEASE);
        assertThat(a.get(fixed::isHeldByCurrentThread)).isTrue();
        b.run(() -> assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(() -> fixed.extend(LEASE))
                .withMessageContaining("lease"));
        clock.advanceAndSettle(LEASE);
        a.run(() -> {
            assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> fixed.extend(LEASE));
            assertThatExceptionOfType(LockLostException.class).isThrownBy(fixed::unlock);
        });
    }

    @Test
    void aThreadExtendsAllNamesThatItHolds() {
        DistributedLock both = locks.multiLock(
                List.of("lease", "other"), LockOptions.defaults().withFixedLease(LEASE));
        a.run(both::lock);
        a.run(() -> both.extend(LEASE.multipliedBy(2)));
        clock.advanceAndSettle(LEASE);
        assertThat(a.get(both::isHeldByCurrentThread)).isTrue();
        a.run(both::unlock);
    }

    @Test
    void aLeaseThatIsLeftToExpireSendsNothingAndKeepsOthersOutUntilItIsOver() throws InterruptedException {
        List<LossReason> losses = new CopyOnWriteArrayList<>();
        Lease lease = fixed.acquire();
        lease.onLost(losses::add);
        store.reset();
        lease.letExpire();
        lease.letExpire();
        lease.release();
        assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
        clock.advanceAndSettle(LEASE.minusMillis(1));
        assertThat(store.total()).isZero();
        assertThat(rival.lock("lease").tryAcquire()).isEmpty();
        clock.advanceAndSettle(Duration.ofMillis(1));
        rival.lock("lease").tryAcquire().orElseThrow().release();
        awaitCallbacks(locks);
        assertThat(losses).isEmpty();
    }

    @Test
    void aRenewedLeaseThatIsLeftToExpireIsNotRenewedAnyMore() throws InterruptedException {
        Lease lease = lock.acquire();
        lease.letExpire();
        clock.advanceAndSettle(LEASE);
        assertThat(isUnused("lease")).isTrue();
        assertThat(store.count(Verb.RENEW)).isZero();
    }

    @Test
    void whoWaitsForALeaseThatWasLeftToExpireGetsItWhenItIsOver() throws InterruptedException {
        Lease lease = fixed.acquire();
        CompletableFuture<Lease> here = b.park(() -> lock.acquire());
        lease.letExpire();
        assertThat(here).isNotDone();
        pass(LEASE);
        Actor.end(here).release();
    }

    @Test
    void aLeaseThatIsLeftToExpireOutlivesItsClient() throws InterruptedException {
        mayLeaveClaims();
        Holdfast third = client(memory);
        Lease left = third.lock("lease", LockOptions.defaults().withFixedLease(LEASE))
                .acquire();
        left.letExpire();
        third.close();
        assertThat(holders("lease")).isEqualTo(1);
        clock.advance(LEASE);
        assertThat(rival.lock("lease").tryLock()).isTrue();
        rival.lock("lease").unlock();
    }

    @Test
    void aLostLeaseCannotBeLeftToExpire() throws InterruptedException {
        Lease lease = fixed.acquire();
        clock.advance(LEASE);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::letExpire);
        assertThatCode(lease::letExpire).doesNotThrowAnyException();
    }

    @Test
    void severalNamesAreLeftToExpireTogether() throws InterruptedException {
        Lease lease = locks.multiLock("lease", "other").acquire();
        store.reset();
        lease.letExpire();
        assertThat(store.total()).isZero();
        assertThat(holders("lease") + holders("other")).isEqualTo(2);
        clock.advanceAndSettle(LEASE);
        assertThat(isUnused("lease") && isUnused("other")).isTrue();
    }

    @Test
    void aReadLockThatOthersHereShareGoesOnWithThem() throws InterruptedException {
        DistributedLock read = locks.readWriteLock("lease").readLock();
        Lease one = read.acquire();
        Lease other = b.get(() -> read.acquire());
        one.letExpire();
        pass(LEASE);
        assertThat(other.isValid()).isTrue();
        other.release();
        assertThat(isUnused("lease")).isTrue();
    }

    @Test
    void tryWithResourcesReleasesAlsoWhenTheBodyFails() {
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> {
            try (Lease lease = lock.acquire()) {
                assertThat(lease.isValid()).isTrue();
                throw new IllegalStateException("the work failed");
            }
        });
        assertThat(isUnused("lease")).isTrue();
    }

    /** The loss does not hide the failure of the body. */
    @Test
    void tryWithResourcesOfALostLeaseSuppressesTheLossBehindTheFailureOfTheBody() {
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> {
                    try (Lease lease = fixed.acquire()) {
                        clock.advance(LEASE);
                        throw new IllegalStateException("the work failed with token " + lease.token());
                    }
                })
                .satisfies(
                        failure -> assertThat(failure.getSuppressed()).hasOnlyElementsOfType(LockLostException.class));
    }

    @Test
    void whatAHolderAsksOfItsLeaseMakesNoTrip() throws InterruptedException {
        Lease lease = lock.acquire();
        store.reset();
        assertThat(lease.isValid()).isTrue();
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(29)).isLessThan(LEASE);
        assertThat(lease.token()).isEqualTo(lease.token("lease"));
        assertThat(lease.names()).containsExactly("lease");
        assertThat(lease.toString()).contains("lease", "SAFE");
        lease.onLost(reason -> {});
        assertThat(store.total()).isZero();
        lease.release();
    }

    @Test
    void whatIsLeftIsCountedFromBeforeTheRequestLessAMarginForDrift() throws InterruptedException {
        Lease lease = fixed.acquire();
        assertThat(lease.remaining())
                .isEqualTo(LEASE.multipliedBy(99).dividedBy(100).minusMillis(2));
        clock.advance(Duration.ofSeconds(10));
        assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(19_698));
        lease.release();
    }

    @Test
    void anAutoRenewedLeaseLastsAHundredLeases() throws InterruptedException {
        Lease lease = lock.acquire();
        long token = lease.token();
        for (int third = 0; third < 300; third++) {
            clock.advance(Duration.ofSeconds(10));
            Wait.until("the lease was renewed", () -> lease.remaining().compareTo(Duration.ofSeconds(25)) > 0);
            assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        }
        assertThat(lease.token()).isEqualTo(token);
        assertThat(store.count(Verb.RENEW)).isBetween(300L, 350L);
        assertThat(holders("lease")).isEqualTo(1);
        lease.release();
    }

    @Test
    void allLocksOfAClientAreRenewedInOneBatch() throws InterruptedException {
        Lease[] leases = new Lease[20];
        for (int i = 0; i < leases.length; i++) {
            leases[i] = locks.lock("lease" + i).acquire();
        }
        store.reset();
        pass(Duration.ofSeconds(30));
        assertThat(store.count(Verb.RENEW)).isBetween(3L, 6L);
        for (Lease lease : leases) {
            assertThat(lease.isValid()).isTrue();
            lease.release();
        }
    }

    @Test
    void aFixedLeaseEndsAtItsTimeAndFreesTheStore() throws InterruptedException {
        Lease lease = fixed.acquire();
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        lease.onLost(reported::complete);
        clock.advance(Duration.ofMillis(29_697));
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        clock.advance(Duration.ofMillis(1));
        assertThat(lease.isValid()).isFalse();
        assertThat(Actor.end(reported)).isEqualTo(LossReason.EXPIRED);
        awaitUnused("lease");
        assertThat(store.count(Verb.RENEW)).isZero();
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::release);
    }

    @Test
    void maxHoldEndsARenewedHoldAndFreesTheStore() throws InterruptedException {
        DistributedLock bounded = locks.lock("lease", LockOptions.defaults().withMaxHold(Duration.ofSeconds(95)));
        Lease lease = bounded.acquire();
        CompletableFuture<LossReason> reported = new CompletableFuture<>();
        lease.onLost(reported::complete);
        pass(Duration.ofMillis(94_999));
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(1));
        clock.advance(Duration.ofMillis(1));
        assertThat(Actor.end(reported)).isEqualTo(LossReason.EXPIRED);
        awaitUnused("lease");
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::release);
    }

    @Test
    void reentryDoesNotBeginMaxHoldAnew() {
        DistributedLock bounded = locks.lock("lease", LockOptions.defaults().withMaxHold(Duration.ofSeconds(20)));
        bounded.lock();
        clock.advance(Duration.ofSeconds(15));
        bounded.lock();
        clock.advance(Duration.ofSeconds(5));
        assertThat(bounded.isHeldByCurrentThread()).isFalse();
        assertThatExceptionOfType(LockLostException.class).isThrownBy(bounded::unlock);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(bounded::unlock);
    }

    /** A hand-off is a new acquisition that uses an old grant. */
    @Test
    void aHandOffBeginsMaxHoldAnew() {
        DistributedLock bounded = locks.lock("lease", LockOptions.defaults().withMaxHold(Duration.ofMillis(100)));
        a.run(bounded::lock);
        CompletableFuture<Lease> waiting = b.park(() -> bounded.acquire());
        clock.advance(Duration.ofMillis(5));
        a.run(bounded::unlock);
        Lease lease = Actor.end(waiting);
        clock.advanceAndSettle(Duration.ofMillis(99));
        assertThat(lease.isValid()).isTrue();
        clock.advance(Duration.ofMillis(1));
        assertThat(lease.isValid()).isFalse();
        awaitUnused("lease");
    }

    @Test
    void extendProlongsAndNeverShortens() throws InterruptedException {
        Lease lease = fixed.acquire();
        lease.extend(Duration.ofMinutes(2));
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(118));
        Duration before = lease.remaining();
        lease.extend(Duration.ofSeconds(1));
        assertThat(lease.remaining()).isGreaterThanOrEqualTo(before);
        pass(Duration.ofSeconds(110));
        assertThat(lease.isValid()).as("long after the fixed lease").isTrue();
        assertThat(holders("lease")).isEqualTo(1);
        lease.release();
        assertThat(isUnused("lease")).isTrue();
    }

    /** A store that counts in seconds would else be asked for less than the user was promised. */
    @Test
    void aNewLeaseIsRoundedUpToTheStepOfTheStore() throws InterruptedException {
        Queue<Duration> asked = new ConcurrentLinkedQueue<>();
        Duration step = Duration.ofSeconds(1);
        ForwardingStore coarse = new ForwardingStore(memory) {
            @Override
            public StoreTraits traits() {
                return ChangedTraits.of(super.traits()).leaseStep(step).get();
            }

            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                claims.forEach(claim -> asked.add(claim.lease()));
                return super.renew(claims);
            }
        };
        Holdfast client = client(coarse);
        LockOptions options = LockOptions.defaults().withFixedLease(Duration.ofMillis(30_001));
        Lease lease = client.lock("lease", options).acquire();
        lease.extend(Duration.ofMillis(60_001));
        assertThat(asked).containsExactly(Duration.ofSeconds(61));
        lease.release();

        asked.clear();
        c.run(rival.lock("lease")::lock);
        CompletableFuture<Lease> several = a.park(client.multiLock(List.of("free", "lease"), options)::acquire);
        c.run(rival.lock("lease")::unlock);
        Actor.end(several).release();
        // The first of the two may have been renewed while the second was waited for.
        assertThat(asked).hasSizeGreaterThanOrEqualTo(2).containsOnly(Duration.ofSeconds(31));
    }

    /** The next holder asked for its own fixed lease, and not for what its predecessor has made of it. */
    @Test
    void anExtendedGrantIsNotPassedOn() {
        Lease first = a.get(fixed::acquire);
        CompletableFuture<Lease> second = b.park(fixed::acquire);
        a.run(() -> first.extend(Duration.ofHours(24)));
        a.run(first::release);
        Lease next = Actor.end(second);
        assertThat(next.remaining()).isLessThanOrEqualTo(LEASE);
        assertThat(next.token() >> 10).isNotEqualTo(first.token() >> 10);
        next.release();
    }

    /** The renewal is on its way with the shorter lease of the options when the extension overtakes it. */
    @Test
    void aRenewalThatCrossesAnExtensionDoesNotShortenIt() throws InterruptedException {
        Lease lease = lock.acquire();
        network.next(Verb.RENEW, Fault.HANG);
        clock.advance(Duration.ofSeconds(10));
        Wait.until("a renewal is on its way", () -> network.hanging() == 1);
        lease.extend(Duration.ofHours(2));
        network.letGo();
        assertThat(lease.remaining()).isGreaterThan(Duration.ofMinutes(118));
        assertThat(locks.state("lease").orElseThrow().holders().get(0).remaining())
                .isGreaterThan(Duration.ofMinutes(118));
        lease.release();
    }

    @Test
    void aRenewalWhoseReplyComesAfterAnExtensionDoesNotShortenIt() throws InterruptedException {
        Lease lease = lock.acquire();
        network.next(Verb.RENEW, Fault.HANG_REPLY);
        clock.advance(Duration.ofSeconds(10));
        Wait.until("a renewal has no answer yet", () -> network.hanging() == 1);
        lease.extend(Duration.ofHours(2));
        network.letGo();
        assertThat(lease.remaining()).isGreaterThan(Duration.ofMinutes(118));
        lease.release();
    }

    @Test
    void extendDoesNotGoBeyondMaxHold() throws InterruptedException {
        Lease lease = locks.lock("lease", LockOptions.defaults().withMaxHold(Duration.ofMinutes(1)))
                .acquire();
        lease.extend(Duration.ofHours(1));
        assertThat(lease.remaining()).isLessThanOrEqualTo(Duration.ofMinutes(1));
        clock.advance(Duration.ofMinutes(1));
        assertThat(lease.isValid()).isFalse();
        awaitUnused("lease");
    }

    @Test
    void extendOfALostLeaseThrows() throws InterruptedException {
        Lease expired = fixed.acquire();
        clock.advance(LEASE);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> expired.extend(LEASE));
        awaitUnused("lease");

        Lease broken = lock.acquire();
        rival.lock("lease").forceRelease();
        assertThat(broken.isValid()).as("nobody has reported it yet").isTrue();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> broken.extend(LEASE))
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(LossReason.BROKEN));
        assertThat(broken.isValid()).isFalse();
    }

    @Test
    void extendOfAReleasedLeaseIsRefused() throws InterruptedException {
        Lease lease = lock.acquire();
        lease.release();
        store.reset();
        assertThatIllegalStateException().isThrownBy(() -> lease.extend(LEASE)).withMessageContaining("released");
        assertThatIllegalArgumentException().isThrownBy(() -> lease.extend(Duration.ofMillis(99)));
        assertThat(store.total()).isZero();
    }

    @Test
    void extendThatFailsKeepsWhatThereWas() throws InterruptedException {
        Lease lease = fixed.acquire();
        network.next(Verb.RENEW, Fault.REFUSE);
        assertThatExceptionOfType(StoreUnavailableException.class)
                .isThrownBy(() -> lease.extend(Duration.ofHours(1)))
                .withMessageContainingAll("lease", "extended");
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(29));
        lease.release();
    }

    @Test
    void aTimedAcquireThatEndsThrowsAndLeavesNothing() {
        c.run(rival.lock("lease")::lock);
        CompletableFuture<Lease> waiting = a.park(() -> lock.acquire(Duration.ofSeconds(3)));
        pass(Duration.ofSeconds(3));
        assertThat(Actor.failure(LockTimeoutException.class, waiting))
                .hasMessageContainingAll("lease", locks.clientId());
        awaitWaiters("lease", 0);
        Actor.failure(LockTimeoutException.class, a.start(() -> lock.acquire(Duration.ZERO)));
        c.run(rival.lock("lease")::unlock);
    }

    @Test
    void acquireThrowsIfTheFlagIsSetOnEntryThoughTheLockIsFree() {
        for (Duration wait : new Duration[] {Duration.ZERO, Duration.ofSeconds(1)}) {
            Actor.failure(InterruptedException.class, a.start(() -> {
                Thread.currentThread().interrupt();
                return lock.acquire(wait);
            }));
        }
        Actor.failure(InterruptedException.class, a.start(() -> {
            Thread.currentThread().interrupt();
            return lock.acquire();
        }));
        assertThat(store.total()).isZero();
    }
}
