package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A holder learns at once that its key is gone, and why. No renewal is needed for it but the first. */
class LossTest extends WithPlainServer {

    private final Map<ClaimId, Reason> lost = new ConcurrentHashMap<>();
    private CountingClient client;
    private LockStore store;

    @BeforeEach
    void openTheStore() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=5m");
        client = new CountingClient(EtcdChannels.open(url));
        store = closing(EtcdLockStore.opened(client, url.options(), MonotonicClock.SYSTEM));
        store.watchLosses((of, id, reason) -> lost.put(id, reason));
    }

    private Claim renewedHolder() {
        Claim holder = alice.mutex(name);
        granted(store, holder);
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        awaitUntil(() -> client.started.get() == 1);
        client.reset();
        return holder;
    }

    private Reason awaitLoss(Claim claim) {
        awaitUntil(() -> lost.containsKey(claim.id()), "the loss was not reported");
        return lost.get(claim.id());
    }

    @Test
    void holderOfABrokenLockHearsItWithoutARenewal() {
        Claim holder = renewedHolder();
        assertThat(released(open(""), holder)).isTrue();
        assertThat(awaitLoss(holder)).isEqualTo(Reason.RELEASED);
        assertThat(client.txns).as("nobody has asked for the key").hasValue(0);
    }

    @Test
    void holderWhoseKeyWasDeletedByHandHearsItAndTheNextIsGranted() {
        Claim holder = renewedHolder();
        LockStore other = open("");
        Claim next = bob.mutex(name);
        var listener = waiting(other, next);
        server.control("del", "--prefix", "holdfast/" + name + "/" + keyOf(holder));
        awaitGrant(listener);
        assertThat(awaitLoss(holder)).isEqualTo(Reason.RELEASED);
        assertThat(renewed(store, holder)).isEqualTo(new Renewed.Gone(Reason.TAKEN));
    }

    private String keyOf(Claim claim) {
        String key = server.control("get", "holdfast/" + claim.name() + "/", "--prefix", "--keys-only")
                .lines()
                .findFirst()
                .orElseThrow();
        return key.substring(key.lastIndexOf('/') + 1);
    }

    @Test
    void renewalThatFindsTheKeyDeletedByHandSaysSo() {
        Claim holder = alice.mutex(name);
        granted(store, holder);
        server.control("del", "--prefix", "holdfast/" + name + "/");
        assertThat(renewed(store, holder)).isEqualTo(new Renewed.Gone(Reason.RELEASED));
    }

    @Test
    void holdersOfARevokedLeaseHearIt() {
        Claim holder = renewedHolder();
        Claim neverRenewed = alice.mutex(new dev.holdfast.spi.LockName(name + "-2"));
        granted(store, neverRenewed);
        revokeLeaseOf(holder);
        awaitLoss(holder);
        assertThat(awaitLoss(neverRenewed)).isEqualTo(Reason.EXPIRED);
        granted(store, alice.mutex(name));
    }

    @Test
    void ownReleasesAndDowngradesAreNoLosses() {
        Claim holder = alice.write(name);
        granted(store, holder);
        renewed(store, holder);
        awaitUntil(() -> client.started.get() == 1);
        granted(store, holder.withPermits(1));
        awaitUntil(() -> client.events.get() == 1);
        assertThat(renewed(store, holder.withPermits(1))).isInstanceOf(Granted.class);
        assertThat(released(store, holder.withPermits(1))).isTrue();
        Claim last = renewedHolderOf("-last");
        assertThat(released(open(""), last)).isTrue();
        awaitLoss(last);
        assertThat(lost).containsOnlyKeys(last.id());
    }

    private Claim renewedHolderOf(String suffix) {
        Claim holder = alice.mutex(new dev.holdfast.spi.LockName(name + suffix));
        granted(store, holder);
        renewed(store, holder);
        awaitUntil(() -> client.started.get() == 2);
        return holder;
    }

    @Test
    void watchThatBrokeIsMadeAgainWithTheNextRenewal() {
        Claim holder = renewedHolder();
        server.kill();
        server.startAgain();
        awaitUntil(() -> {
            assertThat(repaired(() -> renewed(store, holder))).isInstanceOf(Granted.class);
            return client.started.get() >= 1;
        });
        assertThat(released(open(""), holder)).isTrue();
        assertThat(awaitLoss(holder)).isEqualTo(Reason.RELEASED);
    }

    @Test
    void leaseIsLostAsBroken() throws InterruptedException {
        LockStore other = open("");
        try (Holdfast locks = Holdfast.over(store)) {
            AtomicReference<LossReason> reason = new AtomicReference<>();
            Lease lease = locks.lock(name.value(), LockOptions.defaults().withLease(Duration.ofSeconds(3)))
                    .acquire();
            lease.onLost(reason::set);
            awaitUntil(() -> client.started.get() == 1);
            assertThat(released(other, holders(other, name).get(0))).isTrue();
            awaitUntil(() -> reason.get() != null);
            assertThat(reason.get()).isEqualTo(LossReason.BROKEN);
            assertThat(lease.isValid()).isFalse();
        }
    }
}
