package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockOptions;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Leases are renewed in time, no matter what else hangs, fails or blocks. */
class RenewalTest extends EngineFixture {

    private static final Duration THIRD = Duration.ofSeconds(10);

    /** Once it is stuck, every call except a renewal blocks its thread until the test releases it. */
    private static final class StuckStore extends ForwardingStore {
        private final CountDownLatch go = new CountDownLatch(1);
        private final AtomicInteger blocked = new AtomicInteger();
        private volatile boolean stuck;

        private StuckStore(LockStore store) {
            super(store);
        }

        private void block() {
            if (stuck) {
                blocked.incrementAndGet();
                try {
                    go.await();
                } catch (InterruptedException end) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            block();
            return super.tryAcquire(claim);
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            block();
            return super.enqueue(claim, listener);
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            block();
            return super.release(claim);
        }
    }

    @Test
    void leasesAreRenewedWhileEveryOtherThreadAndConnectionIsBlocked() throws InterruptedException {
        StuckStore stuck = new StuckStore(memory);
        Holdfast mine = client(stuck);
        Lease lease = mine.lock("renewed").acquire();
        Lease doomed = mine.lock("doomed").acquire();
        stuck.stuck = true;
        List<CompletableFuture<?>> others = new ArrayList<>();
        others.add(a.begin(mine.lock("free1")::lock));
        others.add(b.start(mine.lock("free2")::tryLock));
        others.add(c.begin(doomed::release));
        for (int i = 0; i < 20; i++) {
            others.add(mine.lock("future" + i).acquireAsync());
        }
        Wait.until("all other threads are blocked", () -> stuck.blocked.get() >= 7);

        for (int third = 0; third < 30; third++) {
            clock.advance(THIRD);
            Wait.until("it was renewed", () -> lease.remaining().compareTo(Duration.ofSeconds(25)) > 0);
            assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        }
        stuck.go.countDown();
        for (CompletableFuture<?> other : others) {
            other.handle((done, failure) -> null).join();
        }
        lease.release();
    }

    @Test
    void afterAFailureARenewalIsTriedAgainSoon() throws InterruptedException {
        Lease lease = locks.lock("renewed").acquire();
        network.next(Verb.RENEW, Fault.DROP_REQUEST, Fault.REFUSE, Fault.DROP_REPLY);
        pass(Duration.ofSeconds(15));
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(25));
        assertThat(lease.state()).isEqualTo(LeaseState.SAFE);
        lease.release();
    }

    @Test
    void aRenewalThatAddsNothingToAnExtensionIsNotRepeatedAtOnce() throws InterruptedException {
        AtomicBoolean isSlow = new AtomicBoolean();
        LockStore slow = new ForwardingStore(store) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                clock.advance(isSlow.get() ? Duration.ofMillis(500) : Duration.ZERO);
                return super.renew(claims);
            }
        };
        Lease lease = client(slow).lock("extended").acquire();
        lease.extend(Duration.ofSeconds(90));
        isSlow.set(true);
        long before = store.count(Verb.RENEW);
        // After a third of the extension the lease is renewed, for a shorter time than is left of the extension.
        pass(Duration.ofSeconds(40));
        assertThat(store.count(Verb.RENEW) - before).isEqualTo(1);
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(45));
        lease.release();
    }

    @Test
    void aRenewalWithoutAnAnswerIsSentAgain() throws InterruptedException {
        Lease lease = locks.lock("renewed").acquire();
        network.next(Verb.RENEW, Fault.HANG);
        pass(Duration.ofSeconds(12));
        assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(25));
        lease.release();
        network.letGo();
        awaitUnused("renewed");
    }

    /** A failure of one lock does not affect the others. */
    @Test
    void anAnswerThatFailsForOneClaimOfABatchConcernsNoOther() throws InterruptedException {
        Holdfast mine = client(new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                return super.renew(claims).thenApply(answers -> {
                    List<Renewed> changed = new ArrayList<>();
                    int i = 0;
                    for (Claim claim : claims) {
                        changed.add(
                                claim.name().value().equals("failing")
                                        ? new Renewed.Failed(StoreException.unavailable(
                                                StoreException.Effect.UNKNOWN, "one shard is down", null))
                                        : answers.get(i));
                        i++;
                    }
                    return changed;
                });
            }
        });
        Lease failing = mine.lock("failing").acquire();
        Lease fine = mine.lock("fine").acquire();
        pass(Duration.ofSeconds(30));
        assertThat(fine.state()).isEqualTo(LeaseState.SAFE);
        assertThat(failing.state()).isEqualTo(LeaseState.LOST);
        fine.release();
    }

    @Test
    void aStoreThatAnswersTooFewClaimsOrThrowsEndsNoRenewals() throws InterruptedException {
        AtomicInteger calls = new AtomicInteger();
        Holdfast mine = client(new ForwardingStore(memory) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                return switch (calls.getAndIncrement() % 4) {
                    case 0 -> CompletableFuture.completedStage(List.of());
                    case 1 -> throw new IllegalStateException("a defect of the store");
                    case 2 -> CompletableFuture.failedStage(new IllegalStateException("a defect of the store"));
                    default -> super.renew(claims);
                };
            }
        });
        Lease lease = mine.lock("renewed").acquire();
        pass(Duration.ofSeconds(120));
        assertThat(lease.isValid()).isTrue();
        assertThat(calls.get()).isGreaterThan(10);
        lease.release();
    }

    @Test
    void nothingIsRenewedAnyMoreAfterTheRelease() throws InterruptedException {
        locks.lock("renewed").acquire().release();
        store.reset();
        pass(Duration.ofMinutes(2));
        assertThat(store.total()).isZero();
    }

    /** The answer to a renewal does not revive a grant that has been released meanwhile. */
    @Test
    void aRenewalThatCrossesTheReleaseRevivesNothing() throws InterruptedException {
        Lease lease = locks.lock("renewed").acquire();
        network.next(Verb.RENEW, Fault.HANG);
        clock.advance(THIRD);
        Wait.until("a renewal is on its way", () -> network.hanging() == 1);
        lease.release();
        network.letGo();
        assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
        assertThat(isUnused("renewed")).isTrue();
        store.reset();
        pass(Duration.ofMinutes(1));
        assertThat(store.count(Verb.RENEW)).isZero();
    }

    /** If the push to a waiter is lost, its next refresh finds the grant. */
    @Test
    void aGrantWhosePushWasLostIsFoundByTheNextRefresh() {
        c.run(rival.lock("pushed")::lock);
        CompletableFuture<Void> waiting = a.parkIn(locks.lock("pushed")::lock);
        network.partition();
        c.run(rival.lock("pushed")::unlock);
        network.heal();
        assertThat(waiting).isNotDone();
        pass(Duration.ofSeconds(2));
        Actor.end(waiting);
        a.run(locks.lock("pushed")::unlock);
    }

    /**
     * A pushed grant lasts only as long as a ticket, so it is renewed before it is given to a user of a fixed
     * lease.
     */
    @Test
    void aGrantThatWaitedIsHandedOutWithItsWholeLease() {
        c.run(rival.lock("pushed")::lock);
        CompletableFuture<Lease> waiting =
                a.park(() -> locks.lock("pushed", LockOptions.defaults().withFixedLease(LEASE))
                        .acquire());
        pass(Duration.ofSeconds(7));
        c.run(rival.lock("pushed")::unlock);
        Lease lease = Actor.end(waiting);
        assertThat(lease.remaining()).isBetween(Duration.ofSeconds(29), LEASE);
        lease.release();
    }

    /**
     * A refresh was answered "still waiting", and this answer arrives when the grant has come and is to be renewed for
     * the fixed lease. The thread of renewals is still at work, so that the answer comes before that renewal.
     */
    @Test
    void aStaleAnswerDoesNotDelayAGrant() {
        CountDownLatch mayGoOn = new CountDownLatch(1);
        ForwardingStore slow = new ForwardingStore(network) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                CompletionStage<List<Renewed>> answers = super.renew(claims);
                Wait.until("the test lets the renewals go on", () -> mayGoOn.getCount() == 0);
                return answers;
            }
        };
        DistributedLock fixed =
                client(slow).lock("pushed", LockOptions.defaults().withFixedLease(LEASE));
        c.run(rival.lock("pushed")::lock);
        CompletableFuture<Lease> waiting = a.park(fixed::acquire);
        network.next(Verb.RENEW, Fault.HANG_REPLY);
        clock.advance(Duration.ofSeconds(2));
        Wait.until("a refresh is not answered", () -> network.hanging() == 1);
        c.run(rival.lock("pushed")::unlock);
        network.letGo();
        mayGoOn.countDown();
        // No time passes, so that no further refresh is sent.
        Lease lease = Actor.end(waiting);
        assertThat(lease.remaining()).isBetween(Duration.ofSeconds(29), LEASE);
        lease.release();
    }

    /** The holder has died. The second waiter lets the first one ask before it asks itself. */
    @Test
    void waitersDoNotAskTogetherWhenALeaseIsOver() throws InterruptedException {
        FaultyStore cut = new FaultyStore(memory);
        client(cut).lock("orphan").acquire();
        cut.partition();
        clock.advanceAndSettle(LEASE.minusSeconds(1));
        CompletableFuture<Void> first = a.parkIn(rival.lock("orphan")::lock);
        CompletableFuture<Void> second = b.parkIn(locks.lock("orphan")::lock);
        store.reset();
        clock.advanceAndSettle(Duration.ofMillis(1_050));
        assertThat(store.count(Verb.RENEW)).isZero();
        Actor.end(first);
        clock.advanceAndSettle(Duration.ofMillis(1));
        assertThat(store.count(Verb.RENEW)).isEqualTo(1);
        cut.heal();
        a.run(rival.lock("orphan")::unlock);
        Actor.end(second);
        b.run(locks.lock("orphan")::unlock);
    }

    /**
     * The holder has died. The first waiter gets the lock soon after the holder's lease is over, without any
     * release.
     */
    @Test
    void theLeaseOfADeadHolderEndsAndTheWaiterAsksInTime() throws InterruptedException {
        Holdfast dead = client(network);
        dead.lock("orphan").acquire();
        network.partition();
        CompletableFuture<Void> waiting = a.parkIn(rival.lock("orphan")::lock);
        pass(LEASE.minusMillis(1));
        assertThat(waiting).isNotDone();
        clock.advance(Duration.ofMillis(2));
        Actor.end(waiting);
        a.run(rival.lock("orphan")::unlock);
    }
}
