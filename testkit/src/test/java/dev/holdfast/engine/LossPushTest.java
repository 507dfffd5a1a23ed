package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.store.LossListeners;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A store that sees by itself that a grant is gone says so, and the holder is notified without a renewal. */
class LossPushTest extends EngineFixture {

    private static final LockName NAME = new LockName("pushed");

    private final LossListeners pushes = new LossListeners();
    private final Holdfast mine = client(new ForwardingStore(store) {
        @Override
        public ListenerRegistration watchLosses(LossListener listener) {
            return pushes.add(listener);
        }
    });

    private Claim held() {
        return memory.inspect(NAME)
                .toCompletableFuture()
                .join()
                .orElseThrow()
                .holders()
                .get(0)
                .claim();
    }

    private static CompletableFuture<LossReason> reasonOf(Lease lease) {
        CompletableFuture<LossReason> reason = new CompletableFuture<>();
        lease.onLost(reason::complete);
        return reason;
    }

    @ParameterizedTest
    @CsvSource({"RELEASED, BROKEN", "TAKEN, TAKEN", "EXPIRED, EXPIRED"})
    void aPushedLossEndsTheHoldWithItsReasonAndWithoutARenewal(Reason pushed, LossReason reason)
            throws InterruptedException {
        Lease lease = mine.lock(NAME.value()).acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        pushes.lost(NAME, held().id(), pushed);
        assertThat(Actor.end(reported)).isEqualTo(reason);
        assertThat(lease.state()).isEqualTo(LeaseState.LOST);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::release)
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(reason));
        assertThat(store.count(Verb.RENEW)).isZero();
        rival.lock(NAME.value()).forceRelease();
    }

    /** A lease that is not renewed would otherwise not be lost before its end. */
    @Test
    void theHolderOfAFixedLeaseIsNotified() throws InterruptedException {
        Lease lease = mine.lock(NAME.value(), LockOptions.defaults().withFixedLease(LEASE))
                .acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        ClaimId id = held().id();
        rival.lock(NAME.value()).forceRelease();
        pushes.lost(NAME, id, Reason.RELEASED);
        assertThat(Actor.end(reported)).isEqualTo(LossReason.BROKEN);
    }

    /** The thread that waits in this JVM need not wait until the lost lease would have ended. */
    @Test
    void aPushedLossWakesTheNextLocalWaiter() {
        Lease lease = a.get(() -> mine.lock(NAME.value()).acquire());
        Claim claim = held();
        CompletableFuture<Void> waiting = b.parkIn(mine.lock(NAME.value())::lock);
        rival.lock(NAME.value()).forceRelease();
        pushes.lost(NAME, claim.id(), Reason.RELEASED);
        Actor.end(waiting);
        assertThat(lease.isValid()).isFalse();
        b.run(mine.lock(NAME.value())::unlock);
    }

    @Test
    void aPushAboutAnotherClaimOrClientOrAReleasedOneDoesNothing() throws InterruptedException {
        Lease first = mine.lock(NAME.value()).acquire();
        Claim released = held();
        first.release();
        pushes.lost(NAME, released.id(), Reason.RELEASED);
        Lease second = mine.lock(NAME.value()).acquire();
        ClaimId present = held().id();
        pushes.lost(NAME, released.id(), Reason.RELEASED);
        pushes.lost(new LockName("other"), present, Reason.RELEASED);
        pushes.lost(NAME, new ClaimId("another-client", present.sequence()), Reason.RELEASED);
        assertThat(second.isValid()).isTrue();
        second.release();
    }

    @Test
    void aLostPushCostsTheTimeUntilTheNextRenewal() throws InterruptedException {
        Lease lease = locks.lock(NAME.value()).acquire();
        CompletableFuture<LossReason> reported = reasonOf(lease);
        rival.lock(NAME.value()).forceRelease();
        assertThat(lease.isValid()).isTrue();
        clock.advance(LEASE.dividedBy(3));
        assertThat(Actor.end(reported)).isEqualTo(LossReason.BROKEN);
    }

    @Test
    void aClosedClientIsNotNotifiedAnyMore() {
        int[] closed = new int[1];
        Holdfast other = client(new ForwardingStore(memory) {
            @Override
            public ListenerRegistration watchLosses(LossListener listener) {
                return () -> closed[0]++;
            }
        });
        other.close();
        assertThat(closed[0]).isEqualTo(1);
    }
}
