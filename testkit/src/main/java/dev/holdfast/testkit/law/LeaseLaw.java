package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreTraits.Liveness;
import java.time.Duration;
import java.util.List;

/** Law 12: leases round up to the store's step and are never reinterpreted; renewing never shortens. */
abstract class LeaseLaw extends ErrorLaw {

    private static final Duration SLOW_MACHINE = Duration.ofSeconds(20);

    @Law(12)
    public final void leasesRoundUpToTheStep() {
        for (Duration lease : List.of(
                Claim.MIN_LEASE,
                Claim.MIN_LEASE.plusNanos(1),
                Duration.ofMillis(1_001),
                Duration.ofMinutes(5).plusNanos(999_999_999),
                Claim.MAX_LEASE)) {
            // A name of its own for each try: what was late may still be there.
            LockName[] name = new LockName[1];
            Duration reported = inTime(lease, () -> {
                        name[0] = name();
                        return granted(alice.mutex(name[0]).withLease(lease));
                    })
                    .lease();
            assertThat(reported).isLessThanOrEqualTo(kept(lease));
            if (traits().liveness() == Liveness.SESSION) {
                assertThat(reported)
                        .as("no grant is surely held for longer than its session")
                        .isLessThanOrEqualTo(traits().ticketTtl());
                assertThat(reported).isPositive();
            } else if (runsOnRealTime()) {
                assertThat(reported).isGreaterThan(lease.minus(SLOW_MACHINE));
            } else {
                assertThat(reported).isGreaterThanOrEqualTo(lease.minus(traits().leaseStep()));
                assertThat(onlyHolder(name[0]).remaining()).isBetween(lease.minus(traits().leaseStep()), kept(lease));
            }
        }
    }

    @Law(12)
    public final void leaseBetweenTwoStepsIsNotCutShort() {
        assumeLeases();
        heldClock();
        LockName name = name();
        Duration lease = brief().plusNanos(1);
        granted(alice.mutex(name).withLease(lease));
        advance(brief());
        busy(bob.mutex(name));
        advance(traits().leaseStep().multipliedBy(2));
        granted(bob.mutex(name));
    }

    @Law(12)
    public final void leasesOutOfRangeAreRefused() {
        Claim claim = alice.mutex(name());
        for (Duration bad : List.of(
                Duration.ZERO,
                Duration.ofMillis(-1),
                Claim.MIN_LEASE.minusNanos(1),
                Claim.MAX_LEASE.plusNanos(1),
                Duration.ofSeconds(Long.MAX_VALUE))) {
            assertThatThrownBy(() -> claim.withLease(bad)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Law(12)
    public final void longestLeaseIsKept() {
        assumeLeases();
        heldClock();
        LockName name = name();
        Claim claim = alice.mutex(name).withLease(Claim.MAX_LEASE);
        granted(claim);
        advance(Claim.MAX_LEASE.minus(Duration.ofSeconds(2)));
        busy(bob.mutex(name));
        outlive(Duration.ofSeconds(2));
        granted(bob.mutex(name));
    }

    @Law(12)
    public final void renewalNeverShortens() {
        assumeLeases();
        LockName name = name();
        Claim claim = alice.mutex(name);
        granted(claim);
        Granted renewed = inTime(Claim.MIN_LEASE, () -> held(claim.withLease(Claim.MIN_LEASE)));
        assertThat(renewed.lease()).isGreaterThan(LONG.minus(SLOW_MACHINE));
        outlive(brief());
        busy(bob.mutex(name));
        held(claim);
    }

    @Law(12)
    public final void repeatedAcquireNeverShortens() {
        assumeLeases();
        LockName name = name();
        Claim claim = alice.mutex(name);
        granted(claim);
        inTime(Claim.MIN_LEASE, () -> granted(claim.again().withLease(Claim.MIN_LEASE)));
        outlive(brief());
        busy(bob.mutex(name));
    }

    @Law(12)
    public final void renewalCountsFromNow() {
        assumeLeases();
        withBriefLease(lease -> {
            LockName name = name();
            Claim claim = alice.mutex(name).withLease(lease.duration());
            granted(claim);
            Claim longer = claim.withLease(Duration.ofMinutes(10));
            Duration first = held(longer).lease();
            lease.end();
            assertThat(first).isGreaterThan(Duration.ofMinutes(10).minus(SLOW_MACHINE));
            busy(bob.mutex(name));
            Duration renewed = held(longer).lease();
            assertThat(renewed)
                    .isGreaterThan(
                            Duration.ofMinutes(10).minus(traits().leaseStep().plus(Duration.ofSeconds(1))));
            assertThat(renewed).isLessThanOrEqualTo(kept(Duration.ofMinutes(10)));
        });
    }

    @Law(12)
    public final void shrinkingNeitherProlongsNorShortens() {
        assumeLeases();
        LockName name = name();
        Claim writer = alice.write(name).withLease(Duration.ofMinutes(10));
        granted(writer);
        Claim reader = writer.withPermits(1).withLease(Claim.MIN_LEASE);
        inTime(Claim.MIN_LEASE, () -> granted(reader));
        outlive(brief());
        ResourceState.Entry entry = onlyHolder(name);
        assertThat(entry.remaining()).isBetween(Duration.ofMinutes(9), kept(Duration.ofMinutes(10)));
        busy(bob.write(name));
    }

    @Law(12)
    public final void renewedLeasesKeepAHolderAlive() {
        assumeLeases();
        heldClock();
        LockName name = name();
        Claim claim = alice.mutex(name).withLease(brief().multipliedBy(3));
        granted(claim);
        for (int i = 0; i < 5; i++) {
            advance(brief().multipliedBy(2));
            held(claim);
        }
        busy(bob.mutex(name));
        outlive(claim.lease());
        granted(bob.mutex(name));
    }
}
