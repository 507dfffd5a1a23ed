package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.RecordingListener.Event;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A waiter whose key is deleted before the watch on it begins ends, and is not granted. */
class OwnKeyTest extends WithPlainServer {

    private CountingClient client;
    private FaultyClient faulty;
    private LockStore store;
    private LockStore other;

    @BeforeEach
    void openTheStores() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=5m");
        client = new CountingClient(EtcdChannels.open(url));
        faulty = new FaultyClient(client);
        store = closing(EtcdLockStore.opened(faulty, url.options(), MonotonicClock.SYSTEM));
        other = open("?session=5m");
    }

    private String keyOf(Claim claim) {
        List<String> lines = server.control("get", "holdfast/" + claim.name() + "/", "--prefix")
                .lines()
                .toList();
        return lines.get(lines.indexOf(claim.id().toString()) - 2);
    }

    private void deleteKeyOf(Claim claim) {
        server.control("del", keyOf(claim));
    }

    @Test
    void behindAnotherClientsClaim() {
        granted(other, alice.mutex(name));
        Claim waiter = bob.mutex(name);
        faulty.beforeFirstWatch = () -> deleteKeyOf(waiter);
        assertEnds(waiting(store, waiter));
    }

    // The claim before it is watched already, because this client holds it. So nothing is missed about that one.
    @Test
    void behindAClaimThatIsWatchedAlready() {
        Claim holder = alice.mutex(name);
        granted(store, holder);
        renewed(store, holder);
        awaitUntil(() -> client.started.get() == 1);
        Claim waiter = bob.mutex(name);
        faulty.beforeFirstWatch = () -> deleteKeyOf(waiter);
        RecordingListener listener = waiting(store, waiter);
        awaitUntil(() -> client.started.get() == 3);
        RecordingListener next = waiting(other, alice.mutex(name));
        released(store, holder);
        awaitGrant(next);
        assertEnds(listener);
    }

    /**
     * The server orders the events of each watch, and not those of two. Before, the waiter held until its first renewal beside the
     * next one.
     */
    @Test
    void whoseEndIsReportedAfterThatOfTheClaimBeforeIt() {
        Map<ClaimId, Reason> losses = new ConcurrentHashMap<>();
        closing(store.watchLosses((of, id, reason) -> losses.put(id, reason)));
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        awaitUntil(() -> client.isAtRestWith(2));
        String key = keyOf(waiter);
        faulty.delaysEvents = of -> of.toStringUtf8().equals(key);
        deleteKeyOf(waiter);
        awaitUntil(() -> faulty.delayedEvents() == 1);
        released(other, holder);
        awaitGrant(listener);
        faulty.deliverEvents();
        awaitUntil(() -> losses.containsKey(waiter.id()));
        assertThat(losses).containsExactly(Map.entry(waiter.id(), Reason.RELEASED));
        awaitUntil(() -> renewed(store, waiter) instanceof Renewed.Gone);
    }

    private static void assertEnds(RecordingListener listener) {
        awaitUntil(() -> listener.outcome().isPresent());
        assertThat(listener.outcome()).contains(new Event.Ended(Reason.RELEASED));
    }
}
