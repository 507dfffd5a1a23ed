package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/** Law 1: at no moment do live grants exceed the limit. */
abstract class AdmissionLaw extends StoreFixture {

    @Law(1)
    public final void mutexAdmitsOne() {
        LockName name = name();
        Claim first = alice.mutex(name);
        granted(first);
        busy(alice.mutex(name));
        busy(bob.mutex(name));
        assertThat(released(first)).isTrue();
        granted(bob.mutex(name));
    }

    @Law(1)
    public final void namesDoNotTouchEachOther() {
        granted(alice.mutex(name()));
        granted(bob.mutex(name()));
    }

    @Law(1)
    public final void readersShareAndWritersShutOut() {
        LockName name = name();
        Claim reader = alice.read(name);
        Claim otherReader = bob.read(name);
        granted(reader);
        granted(otherReader);
        busy(alice.write(name));
        released(reader);
        busy(alice.write(name));
        released(otherReader);
        granted(alice.write(name));
        busy(bob.read(name));
        busy(bob.write(name));
    }

    @Law(1)
    public final void semaphoreAdmitsByWeight() {
        LockName name = name();
        Claim two = alice.claim(name, 2, 5);
        granted(two);
        granted(bob.claim(name, 2, 5));
        busy(alice.claim(name, 2, 5));
        granted(alice.claim(name, 1, 5));
        busy(bob.claim(name, 1, 5));
        released(two);
        busy(bob.claim(name, 3, 5));
        granted(bob.claim(name, 2, 5));
    }

    @Law(1)
    public final void largestNumbersDoNotOverflow() {
        LockName semaphore = name();
        granted(alice.claim(semaphore, Claim.MAX_SEMAPHORE - 1, Claim.MAX_SEMAPHORE));
        busy(bob.claim(semaphore, Claim.MAX_SEMAPHORE, Claim.MAX_SEMAPHORE));
        granted(bob.claim(semaphore, 1, Claim.MAX_SEMAPHORE));
        busy(bob.claim(semaphore, 1, Claim.MAX_SEMAPHORE));
        LockName readWrite = name();
        granted(alice.write(readWrite));
        busy(bob.write(readWrite));
        busy(bob.read(readWrite));
    }

    @Law(1)
    public final void waitSetIsNeverAdmitted() {
        LockName name = name();
        busy(alice.waitSet(name));
        assertThat(inspected(name)).isEmpty();
        assumeQueue();
        Claim first = alice.waitSet(name);
        RecordingListener listener = waiting(first);
        Claim second = bob.waitSet(name);
        RecordingListener secondListener = waiting(second);
        released(first);
        assertThat(awaitEnd(listener)).isEqualTo(Renewed.Reason.RELEASED);
        assertThat(position(second)).isZero();
        assertThat(secondListener.outcome()).isEmpty();
        assertThat(holders(name)).isEmpty();
    }

    @Law(1)
    public final void busyLeavesNothingBehind() {
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        busy(bob.mutex(name));
        assertThat(waiters(name)).isEmpty();
        released(holder);
        assertThat(inspected(name)).isEmpty();
        granted(alice.write(name));
    }

    @Law(1)
    public final void otherKindIsRefusedWhileOneHolds() {
        for (Claim held : List.of(alice.mutex(name()), alice.read(name()), alice.claim(name(), 2, 5))) {
            granted(held);
            IntStream.of(0, 1, 2, 6, Claim.ALL)
                    .filter(limit -> limit != held.limit())
                    .forEach(limit -> refusedAsOtherKind(bob.claim(held.name(), 1, limit)));
            assertThat(holders(held.name())).hasSize(1);
            released(held);
            assertThat(inspected(held.name())).isEmpty();
            granted(bob.claim(held.name(), 1, 3));
        }
    }

    @Law(1)
    public final void otherKindIsRefusedWhileOneWaits() {
        assumeQueue();
        LockName name = name();
        Claim waiter = alice.waitSet(name);
        waiting(waiter);
        refusedAsOtherKind(bob.mutex(name));
        RecordingListener refused = enqueued(bob.mutex(name));
        assertThat(refused.first(RecordingListener.Event.Failed.class)
                        .orElseThrow()
                        .cause())
                .isInstanceOf(KindConflictException.class);
        assertThat(waiters(name)).hasSize(1);
        released(waiter);
        granted(bob.mutex(name));
    }

    @Law(1)
    public final void otherKindIsAdmittedAfterExpiry() {
        assumeLeases();
        LockName name = name();
        granted(alice.mutex(name).withLease(brief()));
        outlive(brief());
        granted(bob.claim(name, 2, 2));
    }

    @Law(1)
    public final void renewalChangesNeitherPermitsNorLimit() {
        LockName name = name();
        Claim two = alice.claim(name, 2, 5);
        granted(two);
        held(two.withPermits(1));
        busy(bob.claim(name, 4, 5));
        held(two.withPermits(5));
        granted(bob.claim(name, 3, 5));
        assertThat(holders(name)).extracting(Claim::permits).containsExactly(2, 3);
    }

    @Law(1)
    public final void refreshChangesNeitherPermitsNorLimit() {
        assumeQueue();
        LockName name = name();
        granted(alice.claim(name, 4, 5));
        Claim three = bob.claim(name, 3, 5);
        waiting(three);
        renewed(three.withPermits(1));
        renewed(new Claim(name, three.id(), 3, 9, three.lease(), three.owner()));
        assertThat(waiters(name)).extracting(Claim::permits).containsExactly(3);
        assertThat(holders(name)).hasSize(1);
    }

    @Law(1)
    public final void handlesOnTheSameDataExcludeEachOther() {
        LockStore other = another();
        LockName name = name();
        Claim first = alice.mutex(name);
        granted(first);
        busy(other, bob.mutex(name));
        released(first);
        granted(other, bob.mutex(name));
        busy(alice.mutex(name));
    }

    @Law(1)
    public final void severalAreTakenTogether() {
        assumeSeveral();
        List<Claim> claims = List.of(alice.mutex(name()), alice.write(name()), alice.claim(name(), 2, 3));
        assertThat(get(store().tryAcquireAll(claims))).hasSize(3).allMatch(Granted.class::isInstance);
        claims.forEach(claim -> {
            busy(bob.claim(claim.name(), claim.limit(), claim.limit()));
            assertThat(released(claim)).isTrue();
        });
    }

    @Law(1)
    public final void severalLeaveNothingIfOneIsBusy() {
        assumeSeveral();
        Claim holder = bob.mutex(name());
        granted(holder);
        List<Claim> claims = List.of(alice.mutex(name()), alice.mutex(holder.name()), alice.mutex(name()));
        for (int repeat = 0; repeat < 2; repeat++) {
            assertThat(get(store().tryAcquireAll(claims)))
                    .anyMatch(Attempt.Busy.class::isInstance)
                    .noneMatch(Granted.class::isInstance);
            assertThat(inspected(claims.get(0).name())).isEmpty();
            assertThat(inspected(claims.get(2).name())).isEmpty();
        }
        released(holder);
        assertThat(get(store().tryAcquireAll(claims)))
                .as("the same claims, after they were refused")
                .hasSize(3)
                .allMatch(Granted.class::isInstance);
    }

    @Law(1)
    public final void severalLeaveNothingIfOneIsOfAnotherKind() {
        assumeSeveral();
        LockName used = name();
        granted(bob.read(used));
        List<Claim> claims = List.of(alice.mutex(name()), alice.mutex(used));
        assertThat(failure(store().tryAcquireAll(claims))).isInstanceOf(KindConflictException.class);
        assertThat(inspected(claims.get(0).name())).isEmpty();
        assertThat(holders(used)).hasSize(1);
    }

    @Law(1)
    public final void severalLeaveNothingIfOneIsAWaitSet() {
        assumeSeveral();
        LockName free = name();
        List<Claim> claims = List.of(alice.mutex(free), alice.waitSet(name()));
        assertThat(get(store().tryAcquireAll(claims))).noneMatch(Granted.class::isInstance);
        assertThat(holders(free)).isEmpty();
        granted(bob.mutex(free));
    }

    @Law(1)
    public final void severalKeepWhatWasHeldBefore() {
        assumeSeveral();
        Claim before = alice.mutex(name()).withLease(Duration.ofMinutes(5));
        Claim holder = bob.mutex(name());
        granted(before);
        granted(holder);
        List<Claim> claims = List.of(before.again(), alice.mutex(holder.name()));
        assertThat(get(store().tryAcquireAll(claims))).noneMatch(Granted.class::isInstance);
        held(before);
    }

    final void refusedAsOtherKind(Claim claim) {
        StoreException refusal = failure(store().tryAcquire(claim));
        assertThat(refusal)
                .isInstanceOf(KindConflictException.class)
                .hasMessageContaining(claim.name().value());
        assertThat(refusal.effect()).isEqualTo(Effect.NONE);
        assertThat(refusal.retryable()).isFalse();
    }
}
