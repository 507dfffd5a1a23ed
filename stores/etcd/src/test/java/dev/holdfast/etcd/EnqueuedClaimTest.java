package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.RecordingListener;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The listener of an enqueued claim is notified of its outcome, whatever other requests for the claim are made.
 * Watches that report nothing stand for events that arrive late: then another request is the first to find that
 * the claim was admitted.
 */
class EnqueuedClaimTest extends WithPlainServer {

    private FaultyClient client;
    private CountingClient othersClient;
    private LockStore store;
    private LockStore other;

    @BeforeEach
    void openTheStores() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        othersClient = new CountingClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        store = over(client);
        other = over(othersClient);
    }

    private LockStore over(EtcdClient of) {
        return closing(EtcdLockStore.opened(of, EtcdOptions.parse("session=20s"), MonotonicClock.SYSTEM));
    }

    @Test
    void attemptThatFindsTheClaimAdmittedNotifiesTheListener() {
        client.silencesWatches = true;
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        released(other, holder);
        Granted granted = granted(store, waiter.again());
        assertThat(awaitGrant(listener).counter()).isEqualTo(granted.counter());
    }

    @Test
    void shrinkThatFindsTheClaimAdmittedNotifiesTheListener() {
        client.silencesWatches = true;
        Claim holder = alice.claim(name, 3, 3);
        granted(other, holder);
        Claim waiter = bob.claim(name, 2, 3);
        RecordingListener listener = waiting(store, waiter);
        released(other, holder);
        Granted granted = granted(store, waiter.withPermits(1));
        assertThat(awaitGrant(listener).counter()).isEqualTo(granted.counter());
    }

    @Test
    void attemptThatFindsTheClaimAdmittedWakesTheNextWaiter() {
        wakesTheNextWaiter(waiter -> granted(store, waiter.again()));
    }

    @Test
    void shrinkThatFindsTheClaimAdmittedWakesTheNextWaiter() {
        wakesTheNextWaiter(waiter -> granted(store, waiter.withPermits(2)));
    }

    @Test
    void renewalThatFindsTheClaimAdmittedWakesTheNextWaiter() {
        wakesTheNextWaiter(waiter -> assertThat(renewed(store, waiter)).isInstanceOf(Granted.class));
    }

    @Test
    void repeatedEnqueueThatFindsTheClaimAdmittedWakesTheNextWaiter() {
        wakesTheNextWaiter(waiter -> awaitGrant(enqueued(store, waiter.again())));
    }

    // The second waiter watches the first one only, and learns from the client of that one that both are admitted.
    private void wakesTheNextWaiter(Consumer<Claim> request) {
        client.silencesWatches = true;
        Claim holder = alice.claim(name, 4, 5);
        granted(other, holder);
        Claim first = bob.claim(name, 3, 5);
        waiting(store, first);
        RecordingListener second = waiting(other, alice.claim(name, 2, 5));
        // A watch that starts after the release would have the queue read.
        awaitUntil(() -> othersClient.started.get() == 2);
        released(other, holder);
        request.accept(first);
        awaitGrant(second);
    }

    @Test
    void failedAttemptIsNoOutcomeOfTheEnqueue() {
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        client.losesRequest = FaultyClient::puts;
        failure(store.tryAcquire(waiter.again()));
        client.losesRequest = request -> false;
        released(other, holder);
        awaitGrant(listener);
    }

    @Test
    void busyAttemptLeavesAnEnqueueThatIsUnderWay() {
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        client.losesRequest = request -> {
            client.losesRequest = later -> false;
            busy(store, waiter);
            return false;
        };
        RecordingListener listener = waiting(store, waiter);
        released(other, holder);
        awaitGrant(listener);
    }

    @Test
    void failedAttemptLeavesAnEnqueueThatIsUnderWay() {
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        client.losesRequest = enqueue -> {
            client.losesRequest = attempt -> true;
            failure(store.tryAcquire(waiter));
            client.losesRequest = later -> false;
            return false;
        };
        RecordingListener listener = waiting(store, waiter);
        released(other, holder);
        awaitGrant(listener);
    }
}
