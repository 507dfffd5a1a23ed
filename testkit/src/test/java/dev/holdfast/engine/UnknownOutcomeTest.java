package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockConflictException;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Released;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests of lost replies, late copies, and requests that overtake each other: in the end there is one grant, and no
 * orphan.
 *
 * <p>The copies are those of requests that the engine itself has sent twice: the network below a store does not
 * duplicate requests.
 */
class UnknownOutcomeTest extends EngineFixture {

    private static final Duration SOON = Duration.ofMillis(20);

    private final DistributedLock lock = locks.lock("unknown");

    private <T> T whileTimePasses(CompletableFuture<T> begun) {
        clock.advanceUntil("it has ended", SOON, begun::isDone);
        return Actor.end(begun);
    }

    private void assertOneGrantThatEndsWithItsRelease(Actor holder) {
        assertThat(holders("unknown")).isEqualTo(1);
        assertThat(waiters("unknown")).isZero();
        assertThat(holder.get(lock::token) >> 10)
                .isEqualTo(rival.state("unknown").orElseThrow().counter());
        holder.run(lock::unlock);
        clock.advanceUntil("it is free", SOON, () -> isUnused("unknown"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSE", "DROP_REQUEST", "DROP_REPLY", "DUPLICATE"})
    void tryLockIsRepairedAndLeavesNoOrphan(Fault fault) {
        network.next(Verb.TRY_ACQUIRE, fault, fault);
        assertThat(whileTimePasses(a.start(() -> lock.tryLock()))).isTrue();
        assertOneGrantThatEndsWithItsRelease(a);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSE", "DROP_REQUEST", "DROP_REPLY", "DUPLICATE", "DELAY"})
    void lockIsRepairedAndLeavesNoOrphan(Fault fault) {
        network.next(Verb.ENQUEUE, fault, fault);
        whileTimePasses(a.begin(lock::lock));
        assertOneGrantThatEndsWithItsRelease(a);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSE", "DROP_REQUEST", "DROP_REPLY", "DUPLICATE", "DELAY"})
    void aWaitThatBeginsWithAFaultKeepsOneQueuePositionAndEndsWell(Fault fault) {
        c.run(rival.lock("unknown")::lock);
        network.next(Verb.ENQUEUE, fault, fault);
        CompletableFuture<Void> waiting = a.begin(lock::lock);
        clock.advanceUntil("it waits", SOON, () -> waiters("unknown") == 1);
        pass(Duration.ofSeconds(10));
        assertThat(waiters("unknown")).isEqualTo(1);
        c.run(rival.lock("unknown")::unlock);
        whileTimePasses(waiting);
        assertOneGrantThatEndsWithItsRelease(a);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSE", "DROP_REQUEST", "DROP_REPLY", "DELAY"})
    void aReleaseReturnsAndIsRepeatedUntilItIsKnown(Fault fault) {
        a.run(lock::lock);
        network.next(Verb.RELEASE, fault, fault, fault);
        CompletableFuture<Void> unlocking = a.begin(lock::unlock);
        if (fault == Fault.DELAY) {
            clock.settle();
            clock.advance(SOON);
        }
        Actor.end(unlocking);
        assertThat(a.get(lock::isHeldByCurrentThread)).isFalse();
        CompletableFuture<Void> next = c.begin(rival.lock("unknown")::lock);
        clock.advanceUntil("another client has it, long before the lease is over", SOON, next::isDone);
        assertThat(holders("unknown")).isEqualTo(1);
        c.run(rival.lock("unknown")::unlock);
        assertThat(isUnused("unknown")).isTrue();
    }

    @Test
    void aLeaseWhoseReleaseIsUnknownIsReleasedForItsOwner() throws InterruptedException {
        Lease lease = lock.acquire();
        network.next(Verb.RELEASE, Fault.DROP_REPLY);
        assertThatCode(lease::release).doesNotThrowAnyException();
        assertThat(lease.isValid()).isFalse();
        clock.advanceAndSettle(Duration.ofSeconds(5));
        awaitUnused("unknown");
    }

    /** After the lease the store has ended the claim by itself. */
    @Test
    void aReleaseIsNotRepeatedForLongerThanTheLease() throws InterruptedException {
        Lease lease = lock.acquire();
        network.partition();
        lease.release();
        pass(LEASE.plusSeconds(6));
        store.reset();
        pass(Duration.ofMinutes(2));
        assertThat(store.total()).isZero();
        assertThat(isUnused("unknown")).isTrue();
    }

    /** The thread gives up while its request is still on its way, and the release overtakes the request. */
    @Test
    void anAcquireThatIsOvertakenByItsReleaseIsRefused() {
        network.next(Verb.ENQUEUE, Fault.HANG);
        CompletableFuture<Void> waiting = a.parkIn(lock::lockInterruptibly);
        a.interrupt();
        Actor.failure(InterruptedException.class, waiting);
        clock.settle();
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        network.letGo();
        assertThat(isUnused("unknown")).isTrue();
    }

    @Test
    void aGrantWhoseReplyCrossesTheInterruptIsGivenBack() {
        network.next(Verb.ENQUEUE, Fault.HANG_REPLY);
        CompletableFuture<Void> waiting = a.parkIn(lock::lockInterruptibly);
        assertThat(holders("unknown")).isEqualTo(1);
        a.interrupt();
        Actor.failure(InterruptedException.class, waiting);
        awaitUnused("unknown");
        network.letGo();
        assertThat(isUnused("unknown")).isTrue();
        assertThat(a.get(lock::isHeldByCurrentThread)).isFalse();
    }

    /** The next local waiter inherits the request whose reply is late, and the token is used once. */
    @Test
    void aLateReplyServesTheNextLocalWaiter() {
        network.next(Verb.ENQUEUE, Fault.HANG_REPLY);
        CompletableFuture<Void> first = a.parkIn(lock::lockInterruptibly);
        CompletableFuture<Void> second = b.parkIn(lock::lock);
        a.interrupt();
        Actor.failure(InterruptedException.class, first);
        network.letGo();
        Actor.end(second);
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(1);
        assertOneGrantThatEndsWithItsRelease(b);
    }

    @Test
    void aCopyOfAnAcquireThatComesAfterTheReleaseIsRefused() {
        network.next(Verb.ENQUEUE, Fault.DROP_REPLY, Fault.LATE_COPY);
        whileTimePasses(a.begin(lock::lock));
        a.run(lock::unlock);
        network.deliverLateCopies();
        assertThat(isUnused("unknown")).isTrue();
    }

    /** With this mark the store can refuse a copy that is still on its way. */
    @Test
    void aClaimThatMayHaveBeenSentTwiceIsMarkedSoWhenItIsReleased() {
        Queue<Claim> released = new ConcurrentLinkedQueue<>();
        ForwardingStore watched = new ForwardingStore(network) {
            @Override
            public CompletionStage<Released> release(Claim claim) {
                released.add(claim);
                return super.release(claim);
            }
        };
        DistributedLock mine = client(watched).lock("unknown");
        a.run(mine::lock);
        a.run(mine::unlock);
        network.next(Verb.ENQUEUE, Fault.DROP_REPLY);
        whileTimePasses(a.begin(mine::lock));
        a.run(mine::unlock);
        network.next(Verb.TRY_ACQUIRE, Fault.DROP_REQUEST);
        whileTimePasses(a.start(() -> mine.tryLock()));
        a.run(mine::unlock);
        assertThat(released).extracting(Claim::repeated).containsExactly(false, true, true);
    }

    /** The store reports its grant twice, and once more after the release. */
    @Test
    void aGrantThatIsReportedTwiceOrTooLateIsTakenOnce() {
        Queue<ClaimListener> listeners = new ConcurrentLinkedQueue<>();
        ForwardingStore repeating = new ForwardingStore(memory) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                listeners.add(listener);
                RecordingListener recorder = new RecordingListener();
                ListenerRegistration registration = super.enqueue(claim, recorder);
                recorder.first(RecordingListener.Event.Granted.class).ifPresent(granted -> {
                    listener.granted(new Granted(granted.counter(), granted.lease()));
                    listener.granted(new Granted(granted.counter(), granted.lease()));
                });
                return registration;
            }
        };
        DistributedLock mine = client(repeating).lock("unknown");
        a.run(mine::lock);
        long token = a.get(mine::token);
        a.run(mine::unlock);
        listeners.forEach(listener -> listener.granted(new Granted(token >> 10, LEASE)));
        assertThat(isUnused("unknown")).isTrue();
        assertThat(b.get(() -> mine.tryLock())).isTrue();
        assertThat(b.get(mine::token)).isGreaterThan(token);
        b.run(mine::unlock);
    }

    /** The first request was lost on its way, so a copy of it may arrive when the lock is free again. */
    @Test
    void aTryThatFindsTheLockTakenAfterALostRequestLeavesNoOrphan() {
        c.run(rival.lock("unknown")::lock);
        network.next(Verb.TRY_ACQUIRE, Fault.DROP_REQUEST, Fault.LATE_COPY);
        assertThat(whileTimePasses(a.start(() -> lock.tryLock()))).isFalse();
        assertALateCopyLeavesNothing(rival.lock("unknown"));
    }

    @Test
    void aTryOfSeveralThatFindsOneTakenAfterALostRequestLeavesNoOrphan() {
        c.run(rival.lock("unknown")::lock);
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.DROP_REQUEST, Fault.LATE_COPY);
        DistributedLock both = locks.multiLock("free", "unknown");
        assertThat(whileTimePasses(a.start(() -> both.tryLock()))).isFalse();
        assertALateCopyLeavesNothing(rival.lock("unknown"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Verb.class,
            names = {"TRY_ACQUIRE", "TRY_ACQUIRE_ALL", "ENQUEUE"})
    void aConflictAfterALostRequestLeavesNoOrphan(Verb verb) {
        DistributedLock otherKind = rival.readWriteLock("unknown").writeLock();
        c.run(otherKind::lock);
        network.next(verb, Fault.DROP_REQUEST, Fault.LATE_COPY);
        DistributedLock both = locks.multiLock("free", "unknown");
        CompletableFuture<?> refused = switch (verb) {
            case TRY_ACQUIRE -> a.start(() -> lock.tryLock());
            case TRY_ACQUIRE_ALL -> a.start(() -> both.tryLock());
            default -> a.begin(lock::lock);
        };
        clock.advanceUntil("it has failed", SOON, refused::isDone);
        Actor.failure(LockConflictException.class, refused);
        assertALateCopyLeavesNothing(otherKind);
    }

    private void assertALateCopyLeavesNothing(DistributedLock heldByRival) {
        clock.settle();
        assertThat(store.count(Verb.RELEASE))
                .as("releases of what was perhaps sent")
                .isPositive();
        c.run(heldByRival::unlock);
        network.deliverLateCopies();
        awaitUnused("unknown");
        awaitUnused("free");
    }

    /** The last lease that was requested determines how long a claim may last in the store, not the first one. */
    @Test
    void theReleaseOfAnExtendedLeaseIsRepeatedForAsLongAsThatMayLast() throws InterruptedException {
        Lease lease = lock.acquire();
        lease.extend(Duration.ofHours(1));
        assertReleasedInTheEnd(lease);
    }

    @Test
    void theReleaseOfALeaseIsRepeatedForAsLongAsAnExtensionOfUnknownOutcomeMayLast() throws InterruptedException {
        Lease lease = lock.acquire();
        network.next(Verb.RENEW, Fault.DROP_REPLY);
        assertThatExceptionOfType(StoreUnavailableException.class).isThrownBy(() -> lease.extend(Duration.ofHours(1)));
        assertReleasedInTheEnd(lease);
    }

    private void assertReleasedInTheEnd(Lease lease) throws InterruptedException {
        network.partition();
        lease.release();
        pass(Duration.ofMinutes(5));
        network.heal();
        pass(Duration.ofSeconds(5));
        assertThat(isUnused("unknown")).isTrue();
    }

    @Test
    void aTryThatIsGrantedTooLateIsRenewedBeforeItIsHandedOut() {
        ForwardingStore slow = new ForwardingStore(memory) {
            private boolean wasSlow;

            @Override
            public CompletionStage<Attempt> tryAcquire(Claim claim) {
                CompletionStage<Attempt> attempt = super.tryAcquire(claim);
                if (!wasSlow) {
                    wasSlow = true;
                    clock.advance(Duration.ofSeconds(16));
                }
                return attempt;
            }
        };
        DistributedLock mine =
                client(slow).lock("unknown", LockOptions.defaults().withFixedLease(LEASE));
        Lease lease = a.get(() -> mine.tryAcquire()).orElseThrow();
        assertThat(lease.remaining())
                .as("the time of a grant that was renewed before it was handed out")
                .isGreaterThan(LEASE.multipliedBy(9).dividedBy(10));
        lease.release();
        awaitUnused("unknown");
    }
}
