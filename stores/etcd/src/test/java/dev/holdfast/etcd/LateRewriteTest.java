package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.testkit.RecordingListener;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A request that writes a claim's key again, and is executed after a later downgrade, must not bring permits back. */
class LateRewriteTest extends WithPlainServer {

    private FaultyClient client;
    private LockStore store;

    @BeforeEach
    void openTheStore() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=60s"), MonotonicClock.SYSTEM));
    }

    private void assertHoldsOneAfterLateRequests(Claim claim) {
        assertThat(client.heldBack()).isPositive();
        client.holdsBack = request -> false;
        granted(store, claim.withPermits(1));
        client.deliver();
        assertThat(holders(store, name))
                .singleElement()
                .satisfies(holder -> assertThat(holder.permits()).isEqualTo(1));
        granted(store, bob.claim(name, 3, 4));
    }

    @Test
    void ownerThatIsWrittenLate() {
        Claim claim = alice.claim(name, 3, 4);
        granted(store, claim);
        client.holdsBack = FaultyClient::rewrites;
        failure(store.renew(List.of(claim.withOwner(OwnerInfo.of("another")))));
        assertHoldsOneAfterLateRequests(claim);
    }

    @Test
    void wakeUpOfTheNextWaiterThatIsWrittenLate() {
        Claim holder = bob.claim(name, 4, 4);
        granted(store, holder);
        Claim claim = alice.claim(name, 3, 4);
        RecordingListener listener = waiting(store, claim);
        client.holdsBack = FaultyClient::rewrites;
        released(store, holder);
        awaitGrant(listener);
        awaitUntil(() -> client.heldBack() > 0);
        assertHoldsOneAfterLateRequests(claim);
    }

    @Test
    void downgradeThatIsExecutedAfterALaterOne() {
        Claim claim = alice.claim(name, 3, 4);
        granted(store, claim);
        client.holdsBack = FaultyClient::rewrites;
        failure(store.tryAcquire(claim.withPermits(2)));
        assertHoldsOneAfterLateRequests(claim);
    }

    @Test
    void ownerIsWrittenWithALaterRenewalIfOneWasLost() {
        Claim claim = alice.claim(name, 3, 4);
        granted(store, claim);
        Claim other = claim.withOwner(OwnerInfo.of("another"));
        client.losesAnswer = FaultyClient::rewrites;
        failure(store.renew(List.of(other)));
        client.losesAnswer = request -> false;
        Claim third = claim.withOwner(OwnerInfo.of("a third one"));
        awaitUntil(() -> {
            assertThat(renewed(store, third)).isInstanceOf(Granted.class);
            return holders(store, name).get(0).owner().client().equals("a third one");
        });
    }
}
