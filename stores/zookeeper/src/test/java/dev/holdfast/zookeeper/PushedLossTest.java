package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A holder learns that its node is gone when that happens, and not with its next renewal. */
class PushedLossTest extends WithServer {

    private record Loss(LockName name, ClaimId id, Reason reason) {}

    private final EndableSession session = closing(new EndableSession(Clients.SESSION));
    private final LockStore store = closing(ZooKeeperLockStore.over(session.client()));
    private final LockStore other = open();
    private final List<Loss> losses = new CopyOnWriteArrayList<>();

    PushedLossTest() {
        store.watchLosses((lost, id, reason) -> losses.add(new Loss(lost, id, reason)));
    }

    private static Loss broken(Claim claim) {
        return new Loss(claim.name(), claim.id(), Reason.RELEASED);
    }

    private void awaitLosses(Loss... expected) {
        awaitUntil(() -> losses.size() >= expected.length);
        assertThat(losses).containsExactly(expected);
    }

    private Claim renewedOnce(Claim claim) {
        granted(store, claim);
        renewed(store, claim);
        return claim;
    }

    @Test
    void holderThatWasRenewedHearsThatItsLockIsBroken() {
        for (Claim claim : List.of(
                alice.mutex(new LockName(name + "-1")),
                alice.write(new LockName(name + "-2")),
                alice.read(new LockName(name + "-3")),
                alice.claim(new LockName(name + "-4"), 2, 5))) {
            renewedOnce(claim);
            losses.clear();
            assertThat(released(other, claim.again())).isTrue();
            awaitLosses(broken(claim));
            granted(other, bob.claim(claim.name(), claim.limit(), claim.limit()));
        }
    }

    @Test
    void holderThatHasWaitedHearsItBeforeItsFirstRenewal() {
        Claim before = bob.mutex(name);
        granted(other, before);
        Claim claim = alice.mutex(name);
        RecordingListener listener = waiting(store, claim);
        released(other, before);
        awaitGrant(listener);
        released(other, claim.again());
        awaitLosses(broken(claim));
    }

    @Test
    void holderOfManyLocksHearsWhichOfThemIsBroken() {
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, claims.get(i));
        }
        get(store.renew(claims));
        released(other, claims.get(7).again());
        awaitLosses(broken(claims.get(7)));
    }

    @Test
    void releaseAndDowngradeAreNoLoss() {
        Claim mutex = renewedOnce(alice.mutex(new LockName(name + "-mutex")));
        Claim write = renewedOnce(alice.write(name));
        assertThat(released(store, mutex)).isTrue();
        Claim read = write.withPermits(1).again();
        granted(store, read);
        renewed(store, read);
        granted(other, bob.read(name));
        assertThat(losses).isEmpty();
        // The node that has replaced the first one is watched in its place.
        released(other, read);
        awaitLosses(broken(read));
    }

    @Test
    void leaseThatExpiresAtTheClientIsNoLoss() {
        Claim claim = renewedOnce(alice.mutex(name).withLease(Duration.ofMillis(300)));
        awaitGrant(enqueued(other, bob.mutex(name)));
        renewed(store, claim);
        assertThat(losses).isEmpty();
    }

    @Test
    void holderHearsOfTheEndOfItsSession() throws Exception {
        Claim claim = renewedOnce(alice.mutex(name));
        session.end();
        awaitLosses(new Loss(name, claim.id(), Reason.EXPIRED));
    }

    /** The change of the owner writes the node, which uses up the watch. */
    @Test
    void watchOutlivesAWriteOfTheOwnNode() {
        Claim claim = renewedOnce(alice.mutex(name));
        renewed(store, claim.withOwner(dev.holdfast.spi.OwnerInfo.of("somebody else")));
        renewed(store, claim);
        renewed(store, claim);
        released(other, claim.again());
        awaitLosses(broken(claim));
    }

    @Test
    void watchOutlivesABrokenConnection() {
        Proxy proxy = proxy();
        LockStore far = open(proxy.hosts());
        far.watchLosses((lost, id, reason) -> losses.add(new Loss(lost, id, reason)));
        Claim claim = alice.mutex(name);
        granted(far, claim);
        renewed(far, claim);
        proxy.cut();
        released(other, claim.again());
        proxy.resume();
        awaitLosses(broken(claim));
    }

    /** The client's clock stands still, so that no second renewal can come. */
    @Test
    void leaseIsLostAsBrokenWithoutAnotherRenewal() throws Exception {
        ManualClock clock = new ManualClock();
        CountingStore counting = new CountingStore(store);
        try (Holdfast locks = Holdfast.builder().store(counting).clock(clock).connect()) {
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            Duration whole = lease.remaining();
            clock.advance(whole.dividedBy(2));
            awaitUntil(() -> lease.remaining().compareTo(whole.dividedBy(2)) > 0);
            counting.reset();
            released(other, holders(other, name).get(0).again());
            assertThat(lost.get(20, TimeUnit.SECONDS)).isEqualTo(LossReason.BROKEN);
            assertThat(counting.count(Verb.RENEW)).isZero();
        }
    }
}
