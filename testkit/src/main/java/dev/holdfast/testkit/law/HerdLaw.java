package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

/**
 * Law 8: no thundering herd. These tests check that freed permits wake those waiters that get them and no others.
 * The store's own tests count the commands that this costs at the server.
 */
abstract class HerdLaw extends OrderLaw {

    private static final int CROWD = 20;

    @Law(8)
    public final void releaseWakesTheNextAndNobodyElse() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        List<Claim> crowd = crowd(name);
        List<RecordingListener> listeners = crowd.stream().map(this::waiting).toList();
        for (int next = 0; next < 3; next++) {
            Released released = get(store().release(next == 0 ? holder : crowd.get(next - 1)));
            awaitGrant(listeners.get(next));
            ClaimId nextId = crowd.get(next).id();
            assertThat(released.granted()).extracting(Released.Handed::id).isSubsetOf(nextId);
            listeners
                    .subList(next + 1, CROWD)
                    .forEach(listener -> assertThat(listener.events()).hasSize(1));
        }
        listeners.forEach(RecordingListener::checkContract);
    }

    @Law(8)
    public final void releaseReturnsTheGrantsThatTheStoreKeeps() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.claim(name, 3, 3);
        granted(holder);
        List<Claim> waiters =
                IntStream.range(0, 3).mapToObj(i -> bob.claim(name, 1, 3)).toList();
        List<RecordingListener> listeners = waiters.stream().map(this::waiting).toList();
        List<Released.Handed> handed = get(store().release(holder)).granted();
        listeners.forEach(this::awaitGrant);
        for (Released.Handed grant : handed) {
            Claim claim = waiters.stream()
                    .filter(waiter -> waiter.id().equals(grant.id()))
                    .findFirst()
                    .orElseThrow();
            assertThat(held(claim).counter()).isEqualTo(grant.granted().counter());
        }
    }

    @Law(8)
    public final void expiryIsGrantedToOneOfTheCrowd() {
        assumeQueue();
        assumeLeases();
        withBriefLease(lease -> {
            LockName name = name();
            granted(alice.mutex(name).withLease(lease.duration()));
            List<Claim> crowd = crowd(name);
            crowd.forEach(this::waiting);
            lease.end();
            List<Renewed> answers = get(store().renew(crowd));
            assertThat(answers.get(0)).isInstanceOf(Granted.class);
            assertThat(answers.subList(1, CROWD)).allMatch(Renewed.Waiting.class::isInstance);
        });
    }

    @Law(8)
    public final void closedRegistrationIsNotNotified() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim claim = bob.mutex(name);
        RecordingListener silenced = new RecordingListener();
        ListenerRegistration registration = store().enqueue(claim, silenced);
        await(silenced::wasNotified, () -> "the listener was not notified about " + claim);
        registration.close();
        registration.close();
        assertThat(position(claim)).as("closing a registration ends no claim").isZero();
        RecordingListener after = waiting(alice.mutex(name));
        released(holder);
        assertThat(holders(name)).extracting(Claim::id).containsExactly(claim.id());
        released(claim);
        awaitGrant(after);
        assertThat(silenced.outcome()).isEmpty();
    }

    @Law(8)
    public final void closedRegistrationGetsNoHints() {
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        List<String> open = new CopyOnWriteArrayList<>();
        List<String> closed = new CopyOnWriteArrayList<>();
        ListenerRegistration kept = store().watch(name, () -> open.add("may be free"));
        assumeTrue(kept != ListenerRegistration.NONE, "the store has no hints");
        ListenerRegistration registration = store().watch(name, () -> closed.add("may be free"));
        registration.close();
        registration.close();
        closed.clear();
        released(holder);
        await(() -> !open.isEmpty(), () -> "no hint came to the registration that is open");
        // The first hint may have been that of a subscription that was confirmed only now.
        open.clear();
        Claim next = bob.mutex(name);
        granted(next);
        released(next);
        await(() -> !open.isEmpty(), () -> "no hint came of the second release");
        assertThat(closed).isEmpty();
        kept.close();
    }

    private List<Claim> crowd(LockName name) {
        List<Claim> crowd = new ArrayList<>();
        for (int i = 0; i < CROWD; i++) {
            crowd.add((i % 2 == 0 ? alice : bob).mutex(name));
        }
        return crowd;
    }
}
