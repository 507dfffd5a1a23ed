package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import io.etcd.jetcd.api.TxnRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The engine counts what is pushed to a waiter from the last refresh that was answered "still waiting" (law 5), whichever answer came
 * last. Two refreshes are under way when the first one is not answered in time.
 */
class WaitTimeTest extends WithPlainServer {

    private static final Duration SESSION = Duration.ofSeconds(20);
    private static final Duration LATER = Duration.ofSeconds(5);

    private final ManualClock clock = new ManualClock();
    private FaultyClient client;
    private LockStore store;
    private LockStore other;

    @BeforeEach
    void openTheStores() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=20s"), clock));
        other = closing(EtcdLockStore.opened(
                EtcdChannels.open(EtcdUrl.parse(server.url())),
                EtcdOptions.parse("session=20s"),
                MonotonicClock.SYSTEM));
    }

    private void assertNoLongerThanTheSession(Duration lease) {
        Duration valid = lease.minus(lease.dividedBy(100));
        // The session was renewed with the first refresh, and the engine counts from the second one.
        Duration session = SESSION.minus(SESSION.dividedBy(100)).minus(LATER);
        assertThat(valid).isLessThanOrEqualTo(session.plusMillis(1));
    }

    /**
     * Refreshes twice: the first refresh is delayed, and the second one is answered before it.
     *
     * @param delay sets which requests are delayed, or whose answers
     * @return the first
     */
    private CompletionStage<List<Renewed>> refreshTwice(Claim waiter, Consumer<Predicate<TxnRequest>> delay) {
        CompletableFuture<Void> keepAlive = new CompletableFuture<>();
        client.keepAlivesWaitFor = keepAlive;
        delay.accept(request -> true);
        CompletionStage<List<Renewed>> first = store.renew(List.of(waiter));
        delay.accept(request -> false);
        clock.advance(LATER);
        CompletionStage<List<Renewed>> second = store.renew(List.of(waiter));
        keepAlive.complete(null);
        assertThat(get(second).get(0)).isInstanceOf(Renewed.Waiting.class);
        return first;
    }

    @Test
    void lateAnswerToAnEarlierRefreshDoesNotLengthenWhatIsPushed() {
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        CompletableFuture<Void> late = new CompletableFuture<>();
        client.delayedWaitFor = late;
        CompletionStage<List<Renewed>> first = refreshTwice(waiter, which -> client.delaysAnswer = which);
        late.complete(null);
        assertThat(get(first).get(0)).isInstanceOf(Renewed.Waiting.class);
        released(other, holder);
        assertNoLongerThanTheSession(awaitGrant(listener).lease());
    }

    /** What the engine gets first is the push, and that tells of a time which was counted from the first refresh. */
    @Test
    void earlierRefreshThatFindsTheGrantDoesNotLengthenIt() {
        client.silencesWatches = true;
        Claim holder = alice.mutex(name);
        granted(other, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        CompletableFuture<Void> late = new CompletableFuture<>();
        client.requestsWaitFor = late;
        CompletionStage<List<Renewed>> first = refreshTwice(waiter, which -> client.delaysRequest = which);
        released(other, holder);
        late.complete(null);
        assertThat(get(first).get(0)).isInstanceOf(Granted.class);
        assertNoLongerThanTheSession(awaitGrant(listener).lease());
    }
}
