package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import io.etcd.jetcd.api.TxnRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a client has put under a session that it has given up since, while the servers did not answer. */
class EarlierSessionTest extends WithPlainServer {

    private static final Duration SESSION = Duration.ofMinutes(5);

    private final ManualClock clock = new ManualClock();
    private FaultyClient client;
    private LockStore store;
    private LockStore other;

    @BeforeEach
    void openTheStores() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=5m");
        client = new FaultyClient(EtcdChannels.open(url));
        store = closing(EtcdLockStore.opened(client, url.options(), clock));
        other = open("?session=5m");
    }

    /** The store gives up its session, and the servers keep it. */
    private void sessionIsOverForTheClient() {
        client.losesSession = true;
        clock.advance(SESSION);
        busy(store, alice.mutex(name));
        client.losesSession = false;
    }

    private static boolean readsQueue(TxnRequest request) {
        return request.getSuccess(0).getRequestRange().getLimit() > 1;
    }

    /** Before, it waited there, and its grant would have been said to last longer than that session did. */
    @Test
    void waiterIsPutAnewUnderThePresentOne() {
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        client.losesAnswer = FaultyClient::puts;
        assertThat(failure(enqueued(store, waiter)).effect()).isEqualTo(Effect.UNKNOWN);
        client.losesAnswer = request -> false;
        String earlier = server.leaseOf(waiter);
        sessionIsOverForTheClient();
        RecordingListener listener = waiting(store, waiter.again());
        assertThat(server.leaseOf(waiter)).isNotEqualTo(earlier);
        server.control("lease", "revoke", earlier);
        released(other, holder);
        assertThat(awaitGrant(listener).lease()).isPositive();
        assertThat(holders(other, name)).extracting(Claim::id).containsExactly(waiter.id());
    }

    /** Before, it was granted, and nobody was notified of its loss. */
    @Test
    void attemptIsNotGrantedWhoseSessionEndsBeforeItsAnswerComes() {
        LockName another = new LockName(name + "-2");
        granted(other, alice.mutex(another));
        RecordingListener waiter = waiting(store, bob.mutex(another));
        CompletableFuture<Void> answers = new CompletableFuture<>();
        client.delayedWaitFor = answers;
        client.delaysAnswer = FaultyClient::puts;
        CompletionStage<Attempt> attempt = store.tryAcquire(alice.mutex(name));
        client.losesSession = true;
        clock.advance(SESSION);
        awaitEnd(waiter);
        client.losesSession = false;
        answers.complete(null);
        StoreException failure = failure(attempt);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
    }

    /** Before, it was granted, too. */
    @Test
    void renewalFindsNoClaimWhoseSessionEndsBeforeItsAnswerComes() {
        client.silencesWatches = true;
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        released(other, holder);
        CompletableFuture<Void> answers = new CompletableFuture<>();
        client.delayedWaitFor = answers;
        client.delaysAnswer = EarlierSessionTest::readsQueue;
        CompletionStage<List<Renewed>> renewal = store.renew(List.of(waiter));
        client.losesSession = true;
        clock.advance(SESSION);
        awaitEnd(listener);
        client.losesSession = false;
        answers.complete(null);
        assertThat(get(renewal)).containsExactly(new Renewed.Gone(Renewed.Reason.EXPIRED));
    }
}
