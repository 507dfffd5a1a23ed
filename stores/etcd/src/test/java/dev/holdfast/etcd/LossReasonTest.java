package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The reason of a loss is the same and right, whether its event or a renewal is first, or both come at once. */
class LossReasonTest extends WithPlainServer {

    private final BlockingQueue<Reason> pushed = new LinkedBlockingQueue<>();
    private CountingClient client;
    private FaultyClient faulty;
    private LockStore store;
    private Claim holder;

    @BeforeEach
    void openTheStoreAndHold() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=5m");
        client = new CountingClient(EtcdChannels.open(url));
        faulty = new FaultyClient(client);
        store = closing(EtcdLockStore.opened(faulty, url.options(), MonotonicClock.SYSTEM));
        store.watchLosses((of, id, reason) -> pushed.add(reason));
        holder = alice.mutex(name);
        granted(store, holder);
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        awaitUntil(() -> client.started.get() == 1);
    }

    private void deleteByHand() {
        server.control("del", "--prefix", "holdfast/" + name + "/");
        awaitUntil(() -> client.events.get() > 0);
    }

    private CompletableFuture<List<Renewed>> renewal() {
        return store.renew(List.of(holder)).toCompletableFuture();
    }

    private void assertBroken(CompletableFuture<List<Renewed>> renewal) throws InterruptedException {
        assertThat(get(renewal)).containsExactly(new Renewed.Gone(Reason.RELEASED));
        assertThat(pushed.poll(10, TimeUnit.SECONDS)).isEqualTo(Reason.RELEASED);
        assertThat(pushed).isEmpty();
    }

    @Test
    void renewalThatBeginsWhileTheReasonIsBeingFound() throws InterruptedException {
        CompletableFuture<Void> gate = new CompletableFuture<>();
        faulty.keepAlivesWaitFor = gate;
        deleteByHand();
        CompletableFuture<List<Renewed>> renewal = renewal();
        gate.complete(null);
        assertBroken(renewal);
    }

    @Test
    void renewalThatHasSeenTheKeyBeforeItWasDeleted() throws InterruptedException {
        CompletableFuture<Void> gate = new CompletableFuture<>();
        faulty.keepAlivesWaitFor = gate;
        client.reset();
        CompletableFuture<List<Renewed>> renewal = renewal();
        awaitUntil(() -> client.answered.get() > 0);
        deleteByHand();
        gate.complete(null);
        assertBroken(renewal);
    }

    @Test
    void renewalIsAnsweredThoughTheClaimIsAcquiredAgainWhileTheReasonIsBeingFound() {
        faulty.silencesWatches = true;
        deleteByHand();
        CompletableFuture<Void> gate = new CompletableFuture<>();
        AtomicBoolean asksForTheReason = new AtomicBoolean();
        faulty.delayedWaitFor = gate;
        faulty.delaysAnswer = request -> {
            boolean ofTombstone = request.getSuccessCount() == 1
                    && request.getSuccess(0)
                            .getRequestRange()
                            .getKey()
                            .toStringUtf8()
                            .contains("%t/");
            asksForTheReason.compareAndSet(false, ofTombstone);
            return ofTombstone;
        };
        CompletableFuture<List<Renewed>> renewal = renewal();
        awaitUntil(asksForTheReason::get);
        granted(store, holder.again());
        gate.complete(null);
        assertThat(renewal).succeedsWithin(Duration.ofSeconds(60));
        assertThat(get(renewal)).singleElement().isInstanceOf(Renewed.Gone.class);
    }

    @Test
    void renewalThatIsFirst() {
        faulty.silencesWatches = true;
        deleteByHand();
        assertThat(get(renewal())).containsExactly(new Renewed.Gone(Reason.RELEASED));
        assertThat(pushed).as("the engine has the answer").isEmpty();
    }

    @Test
    void manyDeletionsThatRaceWithRenewals() throws InterruptedException {
        for (int i = 0; i < 20; i++) {
            CompletableFuture<List<Renewed>> before = renewal();
            client.events.set(0);
            CompletableFuture<Void> deletion =
                    CompletableFuture.runAsync(() -> server.control("del", "--prefix", "holdfast/" + name + "/"));
            Renewed answer = get(before).get(0);
            while (answer instanceof Granted && pushed.isEmpty()) {
                answer = get(renewal()).get(0);
            }
            // A renewal that begins after the loss was reported finds the claim no more, and cannot know why. The
            // engine does not ask then.
            if (answer instanceof Renewed.Gone gone && pushed.isEmpty()) {
                assertThat(gone.reason()).isEqualTo(Reason.RELEASED);
            }
            deletion.join();
            Reason reason = pushed.poll(answer instanceof Granted ? 10 : 0, TimeUnit.SECONDS);
            assertThat(reason == null ? Reason.RELEASED : reason).isEqualTo(Reason.RELEASED);
            pushed.clear();
            holder = alice.mutex(name);
            granted(store, holder);
            renewed(store, holder);
        }
    }
}
