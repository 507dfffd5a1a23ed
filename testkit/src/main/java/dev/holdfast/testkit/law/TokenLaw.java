package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;

/** Law 6: an exclusive grant has a larger number than every earlier grant of the name, a shared one lies between. */
abstract class TokenLaw extends ValidityLaw {

    @Law(6)
    public final void countersAreNumbersFromWhichTokensCanBeMade() {
        long counter = granted(alice.mutex(name())).counter();
        assertThat(counter).isPositive().isLessThan(Long.MAX_VALUE / 1024);
    }

    @Law(6)
    public final void countersGrowThroughRelease() {
        LockName name = name();
        long last = 0;
        for (int i = 0; i < 20; i++) {
            Claim claim = (i % 2 == 0 ? alice : bob).mutex(name);
            last = grownFrom(last, granted(claim).counter());
            released(i % 3 == 0 ? claim.again() : claim);
        }
    }

    @Law(6)
    public final void countersGrowThroughExpiry() {
        assumeLeases();
        LockName name = name();
        long last = 0;
        for (int i = 0; i < 3; i++) {
            last = grownFrom(last, granted(alice.mutex(name).withLease(brief())).counter());
            outlive(brief());
        }
    }

    @Law(6)
    public final void countersGrowThroughTheQueue() {
        assumeQueue();
        LockName name = name();
        Claim holder = alice.mutex(name);
        long last = granted(holder).counter();
        for (int i = 0; i < 5; i++) {
            Claim next = bob.mutex(name);
            RecordingListener listener = waiting(next);
            released(holder);
            long counter = awaitGrant(listener).counter();
            last = grownFrom(last, counter);
            assertThat(held(next).counter())
                    .as("the renewal returns what was pushed")
                    .isEqualTo(counter);
            assertThat(onlyHolder(name).counter()).isEqualTo(counter);
            holder = next;
        }
    }

    @Law(6)
    public final void countersGrowThroughOtherKinds() {
        LockName name = name();
        long last = 0;
        for (Claim claim : new Claim[] {
            alice.mutex(name), bob.write(name), alice.claim(name, 3, 3), bob.mutex(name), alice.write(name)
        }) {
            last = grownFrom(last, granted(claim).counter());
            released(claim);
        }
    }

    @Law(6)
    public final void sharedGrantsLieBetweenTheirExclusiveNeighbours() {
        LockName name = name();
        Claim before = alice.write(name);
        long lower = granted(before).counter();
        released(before);
        Claim first = alice.read(name);
        Claim second = bob.read(name);
        long one = granted(first).counter();
        long two = granted(second).counter();
        released(first);
        Claim third = alice.read(name);
        long three = granted(third).counter();
        released(second);
        released(third);
        long upper = granted(bob.write(name)).counter();
        assertThat(List.of(one, two, three)).allMatch(shared -> lower < shared && shared < upper);
    }

    @Law(6)
    public final void countersGrowThroughCleanUpOfTheRecord() {
        assumeLeases();
        heldClock();
        LockName name = name();
        long last = 0;
        for (int i = 0; i < 3; i++) {
            Claim claim = alice.mutex(name);
            last = grownFrom(last, granted(claim).counter());
            released(claim);
            advance(Duration.ofDays(40));
            granted(bob.mutex(name()));
        }
    }

    @Law(6)
    public final void countersGrowThoughTheWallClockStepsBack() {
        ManualClock clock = heldClock();
        LockName name = name();
        Claim first = alice.mutex(name);
        long last = granted(first).counter();
        clock.stepWallClock(Duration.ofHours(-5));
        released(first);
        Claim second = bob.mutex(name);
        last = grownFrom(last, granted(second).counter());
        clock.stepWallClock(Duration.ofHours(-5));
        released(second);
        grownFrom(last, granted(alice.mutex(name)).counter());
    }

    @Law(6)
    public final void countersGrowThroughReopening() {
        assumeTrue(traits().tokens().compareTo(TokenSurvival.RESTART) >= 0, "counters live as long as the process");
        LockName name = name();
        Claim first = alice.mutex(name);
        long last = granted(first).counter();
        released(first);
        store().close();
        LockStore reopened = another();
        Claim second = bob.mutex(name);
        last = grownFrom(last, granted(reopened, second).counter());
        reopened.close();
        LockStore again = another();
        busy(again, alice.mutex(name));
        assertThat(get(again.release(second)).wasOwner())
                .as("claims outlive the handle")
                .isTrue();
        grownFrom(last, granted(again, alice.mutex(name)).counter());
    }

    @Law(6)
    public final void handlesOnTheSameDataShareTheCounter() {
        LockStore other = another();
        LockName name = name();
        long last = 0;
        for (int i = 0; i < 6; i++) {
            LockStore handle = i % 2 == 0 ? store() : other;
            Claim claim = alice.mutex(name);
            last = grownFrom(last, granted(handle, claim).counter());
            get(handle.release(claim));
        }
    }

    private static long grownFrom(long last, long counter) {
        assertThat(counter).as("the number of a later exclusive grant").isGreaterThan(last);
        return counter;
    }
}
