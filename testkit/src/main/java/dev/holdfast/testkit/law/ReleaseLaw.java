package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import java.util.List;

/** Law 4: after its release a claim neither holds nor waits, also when its acquire arrives after its release. */
abstract class ReleaseLaw extends OwnershipLaw {

    @Law(4)
    public final void releaseFreesAtOnce() {
        LockName name = name();
        for (Claim claim : List.of(alice.mutex(name), bob.write(name), alice.claim(name, 3, 3), bob.read(name))) {
            granted(claim);
            assertThat(released(claim)).isTrue();
            assertThat(inspected(name)).isEmpty();
            gone(claim);
        }
    }

    @Law(4)
    public final void releaseEndsWaiting() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(waiter);
        assertThat(released(waiter)).isTrue();
        assertThat(awaitEnd(listener)).isEqualTo(Reason.RELEASED);
        assertThat(waiters(name)).isEmpty();
        released(holder);
        assertThat(inspected(name)).as("the released waiter is not granted").isEmpty();
        gone(waiter);
        listener.checkContract();
    }

    @Law(4)
    public final void releaseOvertakesAcquire() {
        LockName name = name();
        Claim claim = alice.mutex(name);
        assertThat(released(claim.again())).isFalse();
        busy(claim);
        busy(claim.again());
        assertThat(inspected(name)).as("a tombstone is no use of the name").isEmpty();
        granted(bob.mutex(name));
    }

    @Law(4)
    public final void releaseOfAnUnknownClaimRefusesItsAcquireEvenIfItWasSentOnce() {
        Claim claim = alice.mutex(name());
        assertThat(released(claim)).isFalse();
        busy(claim);
        assertThat(gone(claim)).isEqualTo(Reason.RELEASED);
    }

    @Law(4)
    public final void releaseOvertakesEnqueue() {
        assumeQueue();
        LockName name = name();
        Claim onFreeName = alice.mutex(name);
        released(onFreeName.again());
        assertThat(awaitEnd(enqueued(onFreeName))).isEqualTo(Reason.RELEASED);
        assertThat(inspected(name)).isEmpty();
        Claim holder = bob.mutex(name);
        granted(holder);
        Claim onBusyName = alice.mutex(name);
        released(onBusyName.again());
        assertThat(awaitEnd(enqueued(onBusyName))).isEqualTo(Reason.RELEASED);
        assertThat(waiters(name)).isEmpty();
    }

    @Law(4)
    public final void lateCopyOfARepeatedAcquireIsRefused() {
        LockName name = name();
        Claim claim = alice.mutex(name);
        granted(claim);
        assertThat(released(claim.again())).isTrue();
        busy(claim);
        assertThat(inspected(name)).isEmpty();
        assertThat(gone(claim)).isEqualTo(Reason.RELEASED);
    }

    @Law(4)
    public final void lateCopyOfARepeatedEnqueueIsRefused() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim claim = bob.mutex(name);
        waiting(claim);
        assertThat(released(claim.again())).isTrue();
        assertThat(awaitEnd(enqueued(claim))).isEqualTo(Reason.RELEASED);
        released(holder);
        busy(claim);
        assertThat(inspected(name)).isEmpty();
    }

    @Law(4)
    public final void lateCopyIsRefusedThroughAnotherHandle() {
        assumeLeases();
        LockStore other = another();
        Claim claim = alice.mutex(name());
        released(claim.again());
        busy(other, claim);
    }

    @Law(4)
    public final void tombstoneLastsForTheLease() {
        assumeLeases();
        LockName name = name();
        Claim claim = alice.mutex(name);
        released(claim.again());
        // In real time nothing else may depend on when this thread goes on.
        advance(runsOnRealTime() ? brief() : claim.lease().minus(brief()));
        busy(claim);
        Claim brief = alice.mutex(name).withLease(brief());
        released(brief.again());
        outlive(brief());
        granted(bob.mutex(name));
    }

    // The common release must cost nothing extra, so it must not write a tombstone that nobody needs.
    @Law(4)
    public final void releaseOfAClaimSentOnceLeavesNothing() {
        assumeLeases();
        LockName name = name();
        Claim claim = alice.mutex(name);
        granted(claim);
        assertThat(released(claim)).isTrue();
        assertThat(gone(claim)).isEqualTo(Reason.EXPIRED);
    }

    @Law(4)
    public final void releasingAShrunkGrantFreesAllOfIt() {
        LockName name = name();
        Claim writer = alice.write(name);
        granted(writer);
        granted(writer.withPermits(1));
        assertThat(released(writer)).isTrue();
        granted(bob.write(name));
    }

    @Law(4)
    public final void releasingAWaiterOfAWaitSetSignalsIt() {
        assumeQueue();
        LockName name = name();
        RecordingListener first = waiting(alice.waitSet(name));
        RecordingListener second = waiting(bob.waitSet(name));
        Claim seen = waiters(name).get(0);
        assertThat(released(seen.again())).isTrue();
        assertThat(awaitEnd(first)).isEqualTo(Reason.RELEASED);
        assertThat(second.outcome()).isEmpty();
        assertThat(waiters(name)).hasSize(1);
        assertThat(released(seen.again()))
                .as("a second signal to the same waiter")
                .isFalse();
    }

    @Law(4)
    public final void releaseReachesWaitersOfAnotherHandle() {
        assumeQueue();
        LockStore other = another();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim ended = bob.mutex(name);
        RecordingListener endedListener = enqueued(other, ended);
        RecordingListener next = enqueued(other, bob.mutex(name));
        assertThat(released(ended.again())).isTrue();
        assertThat(awaitEnd(endedListener)).isEqualTo(Reason.RELEASED);
        released(holder);
        awaitGrant(next);
    }
}
