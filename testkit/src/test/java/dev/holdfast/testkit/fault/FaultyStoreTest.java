package dev.holdfast.testkit.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.law.StoreFixture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

class FaultyStoreTest {

    private final LockName name = new LockName("faulty");
    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private final Claimant bob = new Claimant("bob", Duration.ofMinutes(1));
    private final LockStore behind = new MemoryLockStore(new ManualClock());
    private final CountingStore counting = new CountingStore(behind);
    private final FaultyStore store = new FaultyStore(counting);
    private final Claim claim = alice.mutex(name);

    @Test
    void withoutFaultsEverythingPasses() {
        assertThat(StoreFixture.get(store.tryAcquire(claim))).isInstanceOf(Granted.class);
        assertThat(StoreFixture.get(store.inspect(name))).isPresent();
        assertThat(StoreFixture.get(store.list("", 10))).containsExactly(name);
        assertThat(StoreFixture.get(store.release(claim)).wasOwner()).isTrue();
        assertThat(counting.counts())
                .containsOnlyKeys(Verb.TRY_ACQUIRE, Verb.INSPECT, Verb.LIST, Verb.RELEASE)
                .containsEntry(Verb.TRY_ACQUIRE, 1L);
        counting.reset();
        assertThat(counting.total()).isZero();
    }

    @Test
    void refusedRequestHasNoEffect() {
        store.next(Verb.TRY_ACQUIRE, Fault.REFUSE);
        assertThat(StoreFixture.failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.NONE);
        assertThat(counting.total()).isZero();
    }

    @Test
    void droppedRequestHasNoEffectButNobodyKnows() {
        store.next(Verb.TRY_ACQUIRE, Fault.DROP_REQUEST);
        assertThat(StoreFixture.failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(isHeld(claim)).isFalse();
        assertThat(store.met(Fault.DROP_REQUEST)).isEqualTo(1);
    }

    @Test
    void droppedReplyHasItsEffect() {
        store.next(Verb.TRY_ACQUIRE, Fault.DROP_REPLY);
        assertThat(StoreFixture.failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(isHeld(claim)).isTrue();
    }

    @Test
    void duplicateIsExecutedTwice() {
        store.next(Verb.RELEASE, Fault.DUPLICATE);
        StoreFixture.get(store.tryAcquire(claim));
        assertThat(StoreFixture.get(store.release(claim)).wasOwner())
                .as("the second answer")
                .isFalse();
        assertThat(counting.count(Verb.RELEASE)).isEqualTo(2);
    }

    @Test
    void delayedRequestIsOvertaken() {
        List<Runnable> delayed = new ArrayList<>();
        store.delayOn(delay -> delayed::add).next(Verb.TRY_ACQUIRE, Fault.DELAY);
        CompletionStage<Attempt> late = store.tryAcquire(claim);
        assertThat(StoreFixture.get(store.release(claim.again())).wasOwner()).isFalse();
        delayed.forEach(Runnable::run);
        assertThat(StoreFixture.get(late)).isInstanceOf(Attempt.Busy.class);
    }

    @Test
    void lateCopyArrivesAfterTheRelease() {
        store.next(Verb.TRY_ACQUIRE, Fault.LATE_COPY, Fault.LATE_COPY);
        StoreFixture.get(store.tryAcquire(claim));
        StoreFixture.get(store.release(claim));
        store.deliverLateCopies();
        assertThat(isHeld(claim))
                .as("a claim that was not marked as repeated comes back")
                .isTrue();
        StoreFixture.get(store.release(claim.again()));
        store.tryAcquire(claim);
        store.deliverLateCopies();
        assertThat(isHeld(claim)).isFalse();
    }

    @Test
    void hangingRequestIsExecutedWhenItIsLetGo() {
        store.next(Verb.TRY_ACQUIRE, Fault.HANG);
        CompletableFuture<Attempt> hung = store.tryAcquire(claim).toCompletableFuture();
        assertThat(store.hanging()).isEqualTo(1);
        assertThat(hung).isNotDone();
        assertThat(isHeld(claim)).isFalse();
        store.letGo();
        assertThat(hung).isCompletedWithValueMatching(Granted.class::isInstance);
        assertThat(store.hanging()).isZero();
    }

    @Test
    void hangingReplyIsOfAnExecutedRequest() {
        store.next(Verb.RENEW, Fault.HANG_REPLY);
        CompletableFuture<?> hung = store.renew(List.of(claim)).toCompletableFuture();
        assertThat(counting.count(Verb.RENEW)).isEqualTo(1);
        assertThat(hung).isNotDone();
        store.letGo();
        assertThat(hung).isDone();
    }

    @Test
    void partitionLosesRequestsAndPushes() {
        Claim waiter = bob.mutex(name);
        RecordingListener listener = new RecordingListener();
        StoreFixture.get(store.tryAcquire(claim));
        store.enqueue(waiter, listener);
        store.partition();
        assertThat(StoreFixture.failure(store.renew(List.of(claim))).effect()).isEqualTo(Effect.UNKNOWN);
        RecordingListener cutOff = new RecordingListener();
        store.enqueue(bob.mutex(name), cutOff);
        assertThat(cutOff.first(RecordingListener.Event.Failed.class)).isPresent();
        StoreFixture.get(behind.release(claim));
        store.heal();
        assertThat(listener.outcome()).as("the push was lost").isEmpty();
        assertThat(isHeld(waiter)).isTrue();
        StoreFixture.get(store.renew(List.of(waiter)));
    }

    @Test
    void enqueueMeetsEachFault() {
        Claim holder = bob.mutex(name);
        StoreFixture.get(behind.tryAcquire(holder));
        store.delayBy(Duration.ofMillis(5));
        for (Fault fault : Fault.values()) {
            RecordingListener listener = new RecordingListener();
            Claim waiter = alice.mutex(name);
            store.next(Verb.ENQUEUE, fault);
            ListenerRegistration registration = store.enqueue(waiter, listener);
            switch (fault) {
                case REFUSE, REJECT, DROP_REQUEST, DROP_REPLY -> {
                    StoreException cause = listener.first(RecordingListener.Event.Failed.class)
                            .orElseThrow()
                            .cause();
                    boolean notExecuted = fault == Fault.REFUSE || fault == Fault.REJECT;
                    assertThat(cause.effect()).isEqualTo(notExecuted ? Effect.NONE : Effect.UNKNOWN);
                    assertThat(cause.retryable()).isEqualTo(fault != Fault.REJECT);
                    assertThat(waits(waiter)).isEqualTo(fault == Fault.DROP_REPLY);
                }
                case HANG, HANG_REPLY -> {
                    assertThat(listener.events()).isEmpty();
                    assertThat(waits(waiter)).isEqualTo(fault == Fault.HANG_REPLY);
                    store.letGo();
                }
                case LATE_COPY -> store.deliverLateCopies();
                default -> {}
            }
            while (!listener.wasNotified()) {
                Thread.onSpinWait();
            }
            StoreFixture.get(behind.release(waiter.again()));
            listener.checkContract();
            if (fault.ordinal() > Fault.DROP_REPLY.ordinal()) {
                assertThat(listener.outcome()).contains(new RecordingListener.Event.Ended(Reason.RELEASED));
            }
            registration.close();
        }
    }

    @Test
    void closedRegistrationIsNotNotified() {
        StoreFixture.get(behind.tryAcquire(claim));
        RecordingListener listener = new RecordingListener();
        store.next(Verb.ENQUEUE, Fault.HANG_REPLY);
        ListenerRegistration registration = store.enqueue(bob.mutex(name), listener);
        registration.close();
        store.letGo();
        StoreFixture.get(behind.release(claim));
        assertThat(listener.events()).isEmpty();
    }

    @Test
    void randomFaultsFollowTheirSeed() {
        assertThat(randomOutcomes(1)).isEqualTo(randomOutcomes(1)).isNotEqualTo(randomOutcomes(2));
        assertThatThrownBy(() -> store.randomly(1, 0.5)).isInstanceOf(IllegalArgumentException.class);
    }

    private static List<Integer> randomOutcomes(long seed) {
        FaultyStore store = new FaultyStore(new MemoryLockStore(new ManualClock()))
                .randomly(seed, 0.4, Fault.DROP_REPLY, Fault.REFUSE);
        for (int i = 0; i < 200; i++) {
            store.inspect(new LockName("random"));
        }
        return List.of(store.met(Fault.DROP_REPLY), store.met(Fault.REFUSE));
    }

    private boolean isHeld(Claim asked) {
        return StoreFixture.get(behind.inspect(name)).stream()
                .flatMap(state -> state.holders().stream())
                .anyMatch(entry -> entry.claim().id().equals(asked.id()));
    }

    private boolean waits(Claim asked) {
        return StoreFixture.get(behind.inspect(name)).stream()
                .flatMap(state -> state.waiters().stream())
                .anyMatch(entry -> entry.claim().id().equals(asked.id()));
    }
}
