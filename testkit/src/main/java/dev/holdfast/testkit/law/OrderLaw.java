package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.RecordingListener;
import java.util.ArrayList;
import java.util.List;

/** Law 7: first come, first served among waiters, where the store has a queue. */
abstract class OrderLaw extends TokenLaw {

    @Law(7)
    public final void freeNameIsGrantedAtOnce() {
        assumeQueue();
        Claim claim = alice.mutex(name());
        RecordingListener listener = enqueued(claim);
        awaitGrant(listener);
        listener.checkContract();
        assertThat(holders(claim.name())).hasSize(1);
    }

    @Law(7)
    public final void grantsFollowTheOrderOfArrival() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Claim claim = (i % 2 == 0 ? bob : alice).mutex(name);
            claims.add(claim);
            listeners.add(waiting(claim));
            assertThat(firstPosition(listeners.get(i))).isEqualTo(i);
        }
        assertThat(waiters(name)).extracting(Claim::id).containsExactlyElementsOf(ids(claims));
        for (int i = 0; i < 6; i++) {
            released(i == 0 ? holder : claims.get(i - 1));
            awaitGrant(listeners.get(i));
            assertThat(holders(name))
                    .extracting(Claim::id)
                    .containsExactly(claims.get(i).id());
        }
    }

    @Law(7)
    public final void positionsMoveUp() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim first = bob.mutex(name);
        Claim second = bob.mutex(name);
        Claim third = alice.mutex(name);
        List.of(first, second, third).forEach(this::waiting);
        assertThat(position(third)).isEqualTo(2);
        released(second);
        assertThat(position(third)).isEqualTo(1);
        released(holder);
        assertThat(position(third)).isZero();
        held(first);
    }

    @Law(7)
    public final void attemptsDoNotPassWaiters() {
        assumeQueue();
        LockName name = name();
        granted(alice.claim(name, 2, 3));
        Claim large = bob.claim(name, 3, 3);
        waiting(large);
        busy(alice.claim(name, 1, 3));
        Claim small = alice.claim(name, 1, 3);
        waiting(small);
        assertThat(holders(name)).hasSize(1);
        assertThat(waiters(name)).extracting(Claim::id).containsExactly(large.id(), small.id());
    }

    @Law(7)
    public final void largeRequestIsNotPassedBySmallOnes() {
        assumeQueue();
        LockName name = name();
        Claim one = alice.claim(name, 1, 3);
        Claim other = alice.claim(name, 2, 3);
        granted(one);
        granted(other);
        RecordingListener large = waiting(bob.claim(name, 3, 3));
        RecordingListener small = waiting(bob.claim(name, 1, 3));
        released(other);
        assertThat(large.outcome()).isEmpty();
        assertThat(small.outcome()).isEmpty();
        assertThat(waiters(name)).hasSize(2);
        released(one);
        awaitGrant(large);
        assertThat(small.outcome()).isEmpty();
    }

    @Law(7)
    public final void asManyAsFitAreGrantedAtOnce() {
        assumeQueue();
        LockName name = name();
        Claim all = alice.claim(name, 4, 4);
        granted(all);
        RecordingListener one = waiting(bob.claim(name, 1, 4));
        RecordingListener two = waiting(bob.claim(name, 2, 4));
        RecordingListener three = waiting(bob.claim(name, 3, 4));
        RecordingListener last = waiting(bob.claim(name, 1, 4));
        released(all);
        awaitGrant(one);
        awaitGrant(two);
        assertThat(holders(name)).extracting(Claim::permits).containsExactly(1, 2);
        assertThat(three.outcome()).isEmpty();
        assertThat(last.outcome())
                .as("one permit is free, but its turn has not come")
                .isEmpty();
    }

    @Law(7)
    public final void cancelledHeadLetsTheNextIn() {
        assumeQueue();
        LockName name = name();
        granted(alice.claim(name, 2, 3));
        Claim large = bob.claim(name, 3, 3);
        waiting(large);
        RecordingListener small = waiting(alice.claim(name, 1, 3));
        released(large);
        awaitGrant(small);
    }

    @Law(7)
    public final void readersWaitBehindAWriterAndThenEnterTogether() {
        assumeQueue();
        LockName name = name();
        Claim reader = alice.read(name);
        granted(reader);
        Claim writer = bob.write(name);
        RecordingListener writerListener = waiting(writer);
        busy(alice.read(name));
        RecordingListener second = waiting(alice.read(name));
        RecordingListener third = waiting(bob.read(name));
        RecordingListener lastWriter = waiting(bob.write(name));
        released(reader);
        awaitGrant(writerListener);
        assertThat(second.outcome()).isEmpty();
        released(writer);
        awaitGrant(second);
        awaitGrant(third);
        assertThat(lastWriter.outcome()).isEmpty();
        assertThat(holders(name)).hasSize(2);
    }

    @Law(7)
    public final void waitersOfAnotherHandleWaitInTheSameQueue() {
        assumeQueue();
        LockStore other = another();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim first = bob.mutex(name);
        RecordingListener firstListener = enqueued(other, first);
        Claim second = alice.mutex(name);
        RecordingListener secondListener = waiting(second);
        assertThat(firstPosition(firstListener)).isZero();
        assertThat(firstPosition(secondListener)).isEqualTo(1);
        released(holder);
        awaitGrant(firstListener);
        assertThat(secondListener.outcome()).isEmpty();
        get(other.release(first));
        awaitGrant(secondListener);
    }

    @Law(7)
    public final void queueSurvivesReopening() {
        assumeQueue();
        assumeLeases();
        LockStore other = another();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim first = bob.mutex(name);
        Claim second = alice.mutex(name);
        waiting(first);
        waiting(second);
        store().close();
        get(other.release(holder));
        RecordingListener again = enqueued(other, first.again());
        awaitGrant(again);
        get(other.release(first));
        awaitGrant(enqueued(other, second.again()));
    }

    final int firstPosition(RecordingListener listener) {
        return listener.first(RecordingListener.Event.Waiting.class)
                .orElseThrow()
                .position();
    }

    private static List<ClaimId> ids(List<Claim> claims) {
        return claims.stream().map(Claim::id).toList();
    }
}
