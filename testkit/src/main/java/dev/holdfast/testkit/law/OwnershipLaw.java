package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.List;

/** Law 3: renew and release touch only the claim's own record. */
abstract class OwnershipLaw extends IdempotenceLaw {

    @Law(3)
    public final void foreignRenewalTouchesNothing() {
        LockName name = name();
        Claim holder = alice.mutex(name).withLease(Duration.ofMinutes(1));
        long counter = granted(holder).counter();
        for (Claim foreign : List.of(bob.mutex(name), alice.mutex(name))) {
            gone(foreign);
            ResourceState.Entry entry = onlyHolder(name);
            assertThat(entry.claim().id()).isEqualTo(holder.id());
            assertThat(entry.counter()).isEqualTo(counter);
            assertThat(entry.remaining()).isLessThanOrEqualTo(Duration.ofMinutes(1));
        }
    }

    @Law(3)
    public final void foreignReleaseTouchesNothing() {
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        assertThat(released(bob.mutex(name))).isFalse();
        assertThat(released(alice.mutex(name).again())).isFalse();
        assertThat(onlyHolder(name).claim().id()).isEqualTo(holder.id());
        busy(bob.mutex(name));
        held(holder);
    }

    @Law(3)
    public final void foreignReleaseByAnotherHandleTouchesNothing() {
        LockStore other = another();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        assertThat(get(other.release(bob.mutex(name))).wasOwner()).isFalse();
        held(holder);
        assertThat(get(other.release(holder)).wasOwner())
                .as("a claim is released by its id, whoever sends it")
                .isTrue();
    }

    @Law(3)
    public final void waitersAreNotHolders() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim waiter = bob.mutex(name);
        waiting(waiter);
        assertThat(released(waiter)).isTrue();
        held(holder);
        assertThat(waiters(name)).isEmpty();
    }

    @Law(3)
    public final void unknownClaimsAreGone() {
        assertThat(gone(alice.mutex(name()))).isEqualTo(Reason.EXPIRED);
        assertThat(released(alice.mutex(name()))).isFalse();
    }

    @Law(3)
    public final void expiredClaimIsNotRevived() {
        assumeLeases();
        LockName name = name();
        Claim claim = alice.mutex(name).withLease(brief());
        granted(claim);
        outlive(brief());
        assertThat(gone(claim)).isEqualTo(Reason.EXPIRED);
        assertThat(inspected(name)).isEmpty();
        granted(bob.mutex(name));
    }

    @Law(3)
    public final void staleRenewalDoesNotTouchTheNextHolder() {
        assumeLeases();
        LockName name = name();
        Claim stale = alice.mutex(name).withLease(brief());
        granted(stale);
        outlive(brief());
        Claim next = bob.mutex(name);
        long counter = granted(next).counter();
        assertThat(gone(stale)).isEqualTo(Reason.TAKEN);
        assertThat(onlyHolder(name).claim().id()).isEqualTo(next.id());
        assertThat(held(next).counter()).isEqualTo(counter);
    }

    @Law(3)
    public final void lateReleaseDoesNotFreeTheNextHolder() {
        assumeLeases();
        LockName name = name();
        Claim stale = alice.mutex(name).withLease(brief());
        granted(stale);
        outlive(brief());
        Claim next = bob.mutex(name);
        granted(next);
        assertThat(released(stale)).isFalse();
        assertThat(onlyHolder(name).claim().id()).isEqualTo(next.id());
        busy(alice.mutex(name));
    }

    @Law(3)
    public final void lateReleaseDoesNotFreeASharedNeighbour() {
        assumeLeases();
        LockName name = name();
        Claim stale = alice.claim(name, 1, 2).withLease(brief());
        Claim neighbour = bob.claim(name, 1, 2);
        granted(stale);
        granted(neighbour);
        outlive(brief());
        Claim next = bob.claim(name, 1, 2);
        granted(next);
        assertThat(released(stale)).isFalse();
        assertThat(holders(name)).extracting(Claim::id).containsExactly(neighbour.id(), next.id());
    }

    @Law(3)
    public final void breakingEndsExactlyTheClaimThatWasSeen() {
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        Claim seen = onlyHolder(name).claim();
        assertThat(seen.id()).isEqualTo(holder.id());
        released(holder);
        Claim next = bob.mutex(name);
        granted(next);
        assertThat(released(seen.again()))
                .as("what was seen is over, and the next holder is not touched")
                .isFalse();
        held(next);
        assertThat(released(onlyHolder(name).claim().again())).isTrue();
        assertThat(gone(next)).isEqualTo(Reason.RELEASED);
    }

    final ResourceState.Entry onlyHolder(LockName name) {
        List<ResourceState.Entry> holders = inspected(name).orElseThrow().holders();
        assertThat(holders).hasSize(1);
        return holders.get(0);
    }
}
