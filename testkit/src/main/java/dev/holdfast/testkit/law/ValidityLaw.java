package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;

/**
 * Law 5: validity counts from before the request was sent. That is the task of the engine. The store must not
 * report a lease that is longer than the one that it keeps, and steps of the wall clock must have no effect.
 */
abstract class ValidityLaw extends ReleaseLaw {

    @Law(5)
    public final void grantDoesNotLastLongerThanReported() {
        assumeLeases();
        LockName name = name();
        Granted grant = granted(alice.mutex(name).withLease(brief()));
        assertThat(grant.lease()).isPositive().isLessThanOrEqualTo(kept(brief()));
        outlive(grant.lease());
        granted(bob.mutex(name));
    }

    @Law(5)
    public final void reportedLeaseIsNotLongerThanKept() {
        assumeLeases();
        heldClock();
        LockName name = name();
        Claim claim = alice.mutex(name).withLease(brief());
        Duration reported = granted(claim).lease();
        advance(reported.minus(traits().leaseStep()));
        busy(bob.mutex(name));
        reported = held(claim).lease();
        advance(reported.minus(traits().leaseStep()));
        busy(bob.mutex(name));
        reported = granted(claim.again()).lease();
        assertThat(reported).isLessThanOrEqualTo(traits().leaseStep().multipliedBy(2));
    }

    @Law(5)
    public final void renewalIsReportedAsItIsKept() {
        assumeLeases();
        withBriefLease(lease -> {
            LockName name = name();
            Claim claim = alice.mutex(name).withLease(lease.duration());
            granted(claim);
            Granted renewal = held(claim);
            lease.isNeededNoMore();
            assertThat(renewal.lease()).isPositive().isLessThanOrEqualTo(kept(lease.duration()));
            outlive(renewal.lease());
            gone(claim);
        });
    }

    @Law(5)
    public final void handedGrantIsReportedAsItIsKept() {
        assumeQueue();
        assumeLeases();
        LockName name = name();
        Claim holder = alice.mutex(name);
        granted(holder);
        RecordingListener waiter = waiting(bob.mutex(name));
        RecordingListener briefWaiter = waiting(bob.mutex(name).withLease(brief()));
        released(holder);
        assertThat(awaitGrant(waiter).lease()).isPositive().isLessThanOrEqualTo(kept(traits().ticketTtl()));
        released(holders(name).get(0));
        assertThat(awaitGrant(briefWaiter).lease()).isPositive().isLessThanOrEqualTo(kept(brief()));
    }

    @Law(5)
    public final void busyReportsWhenToAskAgain() {
        assumeLeases();
        withBriefLease(lease -> {
            LockName name = name();
            granted(alice.claim(name, 1, 2));
            Granted sooner = granted(alice.claim(name, 1, 2).withLease(lease.duration()));
            Duration retryAfter = busy(bob.claim(name, 1, 2)).retryAfter();
            lease.isNeededNoMore();
            assertThat(retryAfter).isLessThanOrEqualTo(sooner.lease());
            assertThat(retryAfter).as("zero is for a store that does not know").isGreaterThanOrEqualTo(Duration.ZERO);
            outlive(retryAfter.isZero() ? lease.duration() : retryAfter);
            granted(bob.claim(name, 1, 2));
        });
    }

    @Law(5)
    public final void stepsOfTheWallClockExpireNothingAndProlongNothing() {
        assumeLeases();
        ManualClock clock = heldClock();
        LockName name = name();
        Claim claim = alice.mutex(name).withLease(brief());
        granted(claim);
        clock.stepWallClock(Duration.ofDays(400));
        busy(bob.mutex(name));
        assertThat(held(claim).lease()).isLessThanOrEqualTo(kept(brief()));
        clock.stepWallClock(Duration.ofDays(-800));
        busy(bob.mutex(name));
        outlive(brief());
        granted(bob.mutex(name));
    }

    /** A lease as this store keeps it. */
    final Duration kept(Duration lease) {
        return LockStore.roundUp(lease, traits().leaseStep());
    }
}
