package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.util.List;

/** Law 2: the same claim again gives the same grant and token, so that a lost reply is repaired by repeating. */
abstract class IdempotenceLaw extends AdmissionLaw {

    @Law(2)
    public final void repeatedAcquireGivesTheSameGrant() {
        LockName name = name();
        Claim claim = alice.claim(name, 2, 3);
        Granted first = granted(claim);
        Granted second = granted(claim.again());
        Granted third = granted(claim.again());
        assertThat(List.of(second.counter(), third.counter())).containsOnly(first.counter());
        assertThat(second.lease()).isLessThanOrEqualTo(first.lease());
        assertThat(holders(name)).extracting(Claim::id).containsExactly(claim.id());
        granted(bob.claim(name, 1, 3));
    }

    @Law(2)
    public final void repeatedAcquireByAnotherHandleGivesTheSameGrant() {
        assumeLeases();
        Claim claim = alice.mutex(name());
        Granted first = granted(claim);
        assertThat(granted(another(), claim.again()).counter()).isEqualTo(first.counter());
    }

    @Law(2)
    public final void repeatedAcquireReturnsTheRemainingLease() {
        assumeLeases(); // a session is renewed automatically, so its remaining time may grow meanwhile
        Claim claim = alice.mutex(name());
        Granted first = granted(claim);
        advance(brief());
        Granted second = granted(claim.again());
        assertThat(second.lease())
                .isLessThanOrEqualTo(first.lease().minus(brief()).plus(traits().leaseStep()));
    }

    @Law(2)
    public final void repeatedEnqueueKeepsThePosition() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim first = bob.mutex(name);
        waiting(first);
        waiting(alice.mutex(name));
        RecordingListener again = waiting(first.again());
        assertThat(again.first(RecordingListener.Event.Waiting.class)
                        .orElseThrow()
                        .position())
                .isZero();
        assertThat(waiters(name)).hasSize(2);
        released(holder);
        awaitGrant(again).counter();
        again.checkContract();
    }

    @Law(2)
    public final void repeatedEnqueueOfAGrantedClaimReportsTheGrant() {
        assumeQueue();
        LockName name = name();
        Claim claim = alice.mutex(name);
        RecordingListener.Event.Granted first = awaitGrant(enqueued(claim));
        RecordingListener.Event.Granted second = awaitGrant(enqueued(claim.again()));
        assertThat(second.counter()).isEqualTo(first.counter());
        assertThat(holders(name)).hasSize(1);
        assertThat(granted(claim.again()).counter()).isEqualTo(first.counter());
    }

    @Law(2)
    public final void repeatedRenewalGivesTheSameGrant() {
        Claim claim = alice.mutex(name());
        long counter = granted(claim).counter();
        assertThat(held(claim).counter()).isEqualTo(counter);
        assertThat(held(claim).counter()).isEqualTo(counter);
        assertThat(get(store().renew(List.of(claim, claim)))).hasSize(2);
        assertThat(granted(claim.again()).counter()).isEqualTo(counter);
    }

    @Law(2)
    public final void repeatedReleaseChangesNothing() {
        LockName name = name();
        Claim first = alice.mutex(name);
        granted(first);
        assertThat(released(first)).isTrue();
        assertThat(released(first.again())).isFalse();
        Claim second = bob.mutex(name);
        granted(second);
        assertThat(released(first.again())).isFalse();
        held(second);
    }

    @Law(2)
    public final void fewerPermitsShrinkTheGrantAndKeepTheToken() {
        LockName name = name();
        Claim writer = alice.write(name);
        long counter = granted(writer).counter();
        Claim reader = writer.withPermits(1);
        assertThat(granted(reader).counter()).isEqualTo(counter);
        assertThat(holders(name)).extracting(Claim::permits).containsExactly(1);
        granted(bob.read(name));
        busy(bob.write(name));
        assertThat(granted(reader.again()).counter()).isEqualTo(counter);
        assertThat(held(reader).counter()).isEqualTo(counter);
        assertThat(released(reader)).isTrue();
        assertThat(holders(name)).hasSize(1);
    }

    @Law(2)
    public final void shrunkGrantDoesNotGrowByRenewal() {
        LockName name = name();
        Claim writer = alice.write(name);
        granted(writer);
        granted(writer.withPermits(1));
        held(writer);
        granted(bob.read(name));
        assertThat(holders(name)).extracting(Claim::permits).containsExactly(1, 1);
    }

    @Law(2)
    public final void whatShrinkingFreesGoesToTheNextWaiters() {
        assumeQueue();
        LockName name = name();
        Claim writer = alice.write(name);
        granted(writer);
        RecordingListener reader = waiting(bob.read(name));
        RecordingListener otherWriter = waiting(bob.write(name));
        granted(writer.withPermits(1));
        awaitGrant(reader);
        assertThat(otherWriter.outcome()).isEmpty();
    }

    @Law(2)
    public final void morePermitsAreRefused() {
        LockName name = name();
        Claim two = alice.claim(name, 2, 5);
        long counter = granted(two).counter();
        StoreException refusal = failure(store().tryAcquire(two.withPermits(3)));
        assertThat(refusal.effect()).isEqualTo(Effect.NONE);
        assertThat(refusal.retryable()).isFalse();
        granted(two.withPermits(1));
        assertThat(failure(store().tryAcquire(two)).effect())
                .as("a shrunk grant does not grow back")
                .isEqualTo(Effect.NONE);
        assertThat(held(two.withPermits(1)).counter()).isEqualTo(counter);
        assertThat(holders(name)).extracting(Claim::permits).containsExactly(1);
    }

    @Law(2)
    public final void repeatedAcquireOfSeveralGivesTheSameGrants() {
        assumeSeveral();
        List<Claim> claims = List.of(alice.mutex(name()), alice.write(name()));
        List<Attempt> first = get(store().tryAcquireAll(claims));
        List<Attempt> second =
                get(store().tryAcquireAll(claims.stream().map(Claim::again).toList()));
        assertThat(second)
                .extracting(IdempotenceLaw::counter)
                .isEqualTo(first.stream().map(IdempotenceLaw::counter).toList());
        assertThat(granted(claims.get(1).again()).counter()).isEqualTo(counter(first.get(1)));
    }

    private static long counter(Attempt attempt) {
        assertThat(attempt).isInstanceOf(Granted.class);
        return ((Granted) attempt).counter();
    }
}
