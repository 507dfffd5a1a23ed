package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.RecordingListener.Event;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The transaction with which a claim joins a queue: it reads the claims before it, and then puts the key. */
class JoinTest extends WithPlainServer {

    private FaultyClient faulty;
    private CountingClient client;
    private LockStore store;
    private LockStore other;

    @BeforeEach
    void openTheStores() {
        faulty = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        client = new CountingClient(faulty);
        store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=1h"), MonotonicClock.SYSTEM));
        other = open("?session=1h");
        client.reset();
    }

    @Test
    void answerOfAFreeLockCarriesNoKey() {
        Claim claim = alice.mutex(name);
        awaitGrant(enqueued(store, claim));
        released(store, claim);
        assertThat(client.txns).hasValue(2);
        assertThat(client.keysRead).hasValue(0);
    }

    @Test
    void claimThatHasToWaitKnowsItsPositionAfterOneRequest() {
        granted(other, alice.mutex(name));
        waiting(other, alice.mutex(name));
        RecordingListener listener = waiting(store, bob.mutex(name));
        assertThat(listener.first(Event.Waiting.class)).contains(new Event.Waiting(1, Duration.ZERO));
        assertThat(client.txns).hasValue(1);
        assertThat(client.keysRead).as("the claims before it").hasValue(2);
    }

    @Test
    void lostAnswerOfAFreeLockIsRepeatedAndFindsTheKey() {
        Claim claim = alice.mutex(name);
        faulty.losesAnswer = FaultyClient::puts;
        assertUnknown(enqueued(store, claim));
        faulty.losesAnswer = request -> false;
        long created = revision("create", claim);
        assertThat(awaitGrant(enqueued(store, claim.again())).counter()).isEqualTo(created);
        released(store, claim.again());
        assertThat(get(store.inspect(name))).isEmpty();
    }

    @Test
    void lostRequestOfAFreeLockIsRepeatedAndItsLateCopyPutsNothing() {
        Claim claim = alice.mutex(name);
        faulty.holdsBack = FaultyClient::puts;
        assertUnknown(enqueued(store, claim));
        faulty.holdsBack = request -> false;
        long counter = awaitGrant(enqueued(store, claim.again())).counter();
        faulty.deliver();
        assertThat(revision("mod", claim)).isEqualTo(counter);
        released(store, claim.again());
        assertThat(get(store.inspect(name))).isEmpty();
    }

    @Test
    void copyThatArrivesAfterTheReleasePutsNothing() {
        Claim claim = alice.mutex(name);
        faulty.holdsBack = FaultyClient::puts;
        assertUnknown(enqueued(store, claim));
        faulty.holdsBack = request -> false;
        assertThat(get(store.release(claim.again())).wasOwner()).isFalse();
        faulty.deliver();
        assertThat(get(store.inspect(name))).isEmpty();
        assertThat(awaitEnd(enqueued(store, claim.again()))).isEqualTo(Renewed.Reason.RELEASED);
    }

    /** The lock was free when the request was sent, and busy when it arrived. */
    @Test
    void lockThatWasTakenMeanwhileIsWaitedForAfterOneRequest() {
        Claim holder = bob.mutex(name);
        faulty.losesRequest = request -> {
            faulty.losesRequest = later -> false;
            granted(other, holder);
            return false;
        };
        RecordingListener listener = waiting(store, alice.mutex(name));
        assertThat(listener.first(Event.Waiting.class)).contains(new Event.Waiting(0, Duration.ZERO));
        assertThat(client.keysRead).hasValue(1);
        released(other, holder);
        awaitGrant(listener);
    }

    @Test
    void claimOfAnotherKindIsRefusedAndItsKeyIsDeleted() {
        Claim holder = alice.mutex(name);
        granted(other, holder);
        RecordingListener refused = enqueued(store, bob.read(name));
        awaitUntil(() -> refused.outcome().isPresent());
        assertThat(refused.first(Event.Failed.class).orElseThrow().cause()).isInstanceOf(KindConflictException.class);
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).isEmpty();
        released(other, holder);
        awaitGrant(enqueued(store, bob.read(name)));
    }

    private static void assertUnknown(RecordingListener listener) {
        assertThat(listener.first(Event.Failed.class).orElseThrow().cause().effect())
                .isEqualTo(Effect.UNKNOWN);
    }

    private long revision(String which, Claim claim) {
        return Long.parseLong(server.control("get", "holdfast/" + claim.name() + "/", "--prefix", "--write-out=json")
                .replaceAll("(?s).*\"" + which + "_revision\":(\\d+).*", "$1"));
    }
}
