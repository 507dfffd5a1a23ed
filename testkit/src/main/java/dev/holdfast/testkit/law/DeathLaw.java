package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Law 9: a dead waiter delays live clients by at most its ticket's time to live, a dead holder by at most its
 * lease.
 */
abstract class DeathLaw extends HerdLaw {

    /** A machine that is slower than the tickets so often is too slow for these tests. */
    private static final int MOST_STARTS = 5;

    private Stopwatch sinceTicketsBegan = new Stopwatch();
    private boolean ticketsMayHaveEnded;

    @Law(9)
    public final void deadHolderEndsWithItsLease() {
        assumeLeases();
        LockName name = name();
        Claim dead = alice.mutex(name).withLease(brief());
        granted(dead);
        outlive(brief());
        assertThat(inspected(name)).isEmpty();
        granted(bob.mutex(name));
        assertThat(gone(dead)).isEqualTo(Reason.TAKEN);
    }

    @Law(9)
    public final void waiterGetsWhatADeadHolderLeft() {
        behindADeadHolder((waiter, listener) -> {
            held(waiter);
            awaitGrant(listener);
            listener.checkContract();
        });
    }

    @Law(9)
    public final void anyOperationMovesTheQueuePastADeadHolder() {
        behindADeadHolder((waiter, listener) -> {
            busy(alice.mutex(waiter.name()));
            awaitGrant(listener);
            assertThat(holders(waiter.name())).extracting(Claim::id).containsExactly(waiter.id());
        });
    }

    /** Goes on with a claim that waits, and its listener, when the lease of the holder is over. */
    private void behindADeadHolder(BiConsumer<Claim, RecordingListener> test) {
        assumeQueue();
        assumeLeases();
        withBriefLease(lease -> {
            LockName name = name();
            granted(alice.mutex(name).withLease(lease.duration()));
            Claim waiter = bob.mutex(name);
            RecordingListener listener = waiting(waiter);
            lease.end();
            test.accept(waiter, listener);
        });
    }

    @Law(9)
    public final void deadWaiterIsPassedOver() {
        assumeQueue();
        assumeLeases();
        letTicketsEnd();
        whileTicketsLive(() -> {
            LockName name = name();
            Claim holder = alice.mutex(name);
            granted(holder);
            Claim dead = bob.mutex(name);
            RecordingListener deadListener = waiting(dead);
            Claim living = alice.mutex(name);
            RecordingListener livingListener = waiting(living);
            mostOfATicket();
            refreshed(living);
            mostOfATicket();
            assertThat(refreshed(living)).containsExactly(0);
            assertThat(waiters(name)).extracting(Claim::id).containsExactly(living.id());
            released(holder);
            noteTheTime();
            awaitGrant(livingListener);
            gone(dead);
            assertThat(deadListener.first(RecordingListener.Event.Granted.class))
                    .isEmpty();
        });
    }

    @Law(9)
    public final void refreshedWaiterKeepsItsPosition() {
        assumeQueue();
        assumeLeases();
        letTicketsEnd();
        whileTicketsLive(() -> {
            LockName name = name();
            Claim holder = alice.mutex(name);
            granted(holder);
            Claim first = bob.mutex(name);
            RecordingListener listener = waiting(first);
            Claim second = alice.mutex(name);
            waiting(second);
            for (int i = 0; i < 3; i++) {
                mostOfATicket();
                assertThat(refreshed(first, second)).containsExactly(0, 1);
            }
            released(holder);
            noteTheTime();
            awaitGrant(listener);
        });
    }

    @Law(9)
    public final void frozenWaiterKeepsItsGrantForTheTicketsTimeOnly() {
        assumeQueue();
        assumeLeases();
        letTicketsEnd();
        whileTicketsLive(() -> {
            LockName name = name();
            Claim holder = alice.mutex(name);
            granted(holder);
            Claim frozen = bob.mutex(name);
            RecordingListener frozenListener = waiting(frozen);
            Claim living = alice.mutex(name);
            waiting(living);
            released(holder);
            noteTheTime();
            awaitGrant(frozenListener);
            mostOfATicket();
            refreshed(living);
            mostOfATicket();
            Renewed next = renewed(living);
            noteTheTime();
            assertThat(next).isInstanceOf(Granted.class);
            assertThat(gone(frozen)).isEqualTo(Reason.TAKEN);
        });
    }

    @Law(9)
    public final void renewedWaiterKeepsItsGrantForTheLease() {
        assumeQueue();
        assumeLeases();
        letTicketsEnd();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(waiter);
        released(holder);
        awaitGrant(listener);
        Duration lease = held(waiter).lease();
        assertThat(lease).isGreaterThan(LONG.minus(Duration.ofMinutes(1)));
        mostOfATicket();
        mostOfATicket();
        busy(alice.mutex(name));
        held(waiter);
    }

    @Law(9)
    public final void deadCrowdLeavesNothing() {
        assumeQueue();
        assumeLeases();
        letTicketsEnd();
        withBriefLease(lease -> {
            LockName name = name();
            granted(alice.mutex(name).withLease(lease.duration()));
            for (int i = 0; i < 5; i++) {
                waiting(bob.mutex(name).withLease(lease.duration()));
            }
            lease.isNeededNoMore();
            outlive(traits().ticketTtl().plus(lease.duration().multipliedBy(2)));
            // In a store that advances its queue by itself, the first inspection may still hand the grant to a waiter
            // whose ticket has expired meanwhile. Nobody can hold it for longer than its lease.
            inspected(name);
            outlive(lease.duration());
            assertThat(inspected(name)).isEmpty();
            granted(alice.write(name));
        });
    }

    @Law(9)
    public final void goneWaitersAreReportedWhenTheyAsk() {
        assumeQueue();
        assumeLeases();
        letTicketsEnd();
        LockName name = name();
        Claim waitSet = alice.waitSet(name);
        RecordingListener listener = waiting(waitSet);
        mostOfATicket();
        mostOfATicket();
        assertThat(gone(waitSet)).as("nobody holds what this waited for").isEqualTo(Reason.EXPIRED);
        assertThat(inspected(name)).isEmpty();
        assertThat(awaitEnd(listener)).isEqualTo(Reason.EXPIRED);
        listener.checkContract();
    }

    // A test whose tickets may have ended, because the machine was slow or was suspended, proves nothing if it fails:
    // it is begun anew.
    private void whileTicketsLive(Runnable test) {
        for (int start = 1; ; start++) {
            sinceTicketsBegan = new Stopwatch();
            ticketsMayHaveEnded = false;
            try {
                test.run();
                return;
            } catch (AssertionError failure) {
                if (!ticketsMayHaveEnded || start == MOST_STARTS) {
                    throw failure;
                }
            }
        }
    }

    // Refreshes the tickets of claims that wait, and returns their positions.
    private List<Integer> refreshed(Claim... waiting) {
        Stopwatch sinceSent = new Stopwatch();
        List<Renewed> answers = get(store().renew(List.of(waiting)));
        noteTheTime();
        sinceTicketsBegan = sinceSent;
        return answers.stream().map(DeathLaw::waitingPosition).toList();
    }

    // After each step whose outcome depends on tickets that live, and before the outcome is checked.
    private void noteTheTime() {
        ticketsMayHaveEnded |= runsOnRealTime() && sinceTicketsBegan.mayHavePassed(traits().ticketTtl());
    }

    // Two of these periods are longer than a ticket's time to live; after one, four tenths are left for a slow
    // machine.
    private void mostOfATicket() {
        advance(traits().ticketTtl().multipliedBy(6).dividedBy(10));
    }

    private static int waitingPosition(Renewed renewed) {
        assertThat(renewed).isInstanceOf(Renewed.Waiting.class);
        return ((Renewed.Waiting) renewed).position();
    }
}
