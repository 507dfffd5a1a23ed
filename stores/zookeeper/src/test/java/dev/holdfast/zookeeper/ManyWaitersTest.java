package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.RecordingListener.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Very long queues: what it costs to join and to stay, and that the holder does not notice. */
class ManyWaitersTest extends WithServer {

    private static final int CLIENTS = 10;
    private static final int EACH = 500;

    private record Waiter(Claim claim, RecordingListener listener) {}

    private LockStore patient(String hosts) {
        return openUrl("zookeeper://" + hosts + "?sessionTimeout=60s&timeout=20s");
    }

    private List<Waiter> join(LockStore store, int number) {
        List<Waiter> waiters = new ArrayList<>(number);
        for (int i = 0; i < number; i++) {
            waiters.add(new Waiter(bob.mutex(name), new RecordingListener()));
            store.enqueue(waiters.get(i).claim(), waiters.get(i).listener());
        }
        return waiters;
    }

    private static void awaitJoined(List<Waiter> waiters) {
        for (Waiter waiter : waiters) {
            awaitUntil(waiter.listener()::wasNotified);
            assertThat(waiter.listener().outcome()).isEmpty();
        }
    }

    private static CompletionStage<List<Renewed>> refresh(LockStore store, List<Waiter> waiters) {
        return store.renew(waiters.stream().map(Waiter::claim).toList());
    }

    /** Each list is as long as the queue, so one for each claim would be the square. */
    @Test
    void claimsThatJoinAtTheSameTimeShareTheListOfTheQueue() {
        Proxy proxy = proxy();
        LockStore store = patient(proxy.hosts());
        granted(store, alice.mutex(name));
        proxy.reset();
        proxy.holdReplies();
        List<Waiter> waiters = join(store, EACH);
        // When this client last looked, nobody was in the queue.
        awaitUntil(() -> proxy.counts().getOrDefault("multi", 0) == EACH);
        proxy.letReplies();
        awaitJoined(waiters);
        assertThat(proxy.counts().get("getChildren")).isLessThanOrEqualTo(17);
        assertThat(waiters.stream().map(ManyWaitersTest::position))
                .containsExactlyElementsOf(IntStream.range(0, EACH).boxed().toList());
    }

    private static int position(Waiter waiter) {
        return waiter.listener()
                .first(Event.Waiting.class)
                .map(Event.Waiting::position)
                .orElseThrow();
    }

    @Test
    void holderDoesNotNoticeFiveThousandWaiters() throws Exception {
        try (Holdfast locks = Holdfast.over(patient(server().hosts()))) {
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            Lease lease = locks.lock(name.value()).acquire();
            lease.onLost(lost::complete);
            List<LockStore> stores = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                stores.add(patient(server().hosts()));
            }
            long begun = System.nanoTime();
            List<List<Waiter>> waiters =
                    stores.stream().map(store -> join(store, EACH)).toList();
            waiters.forEach(ManyWaitersTest::awaitJoined);
            long joined = System.nanoTime();
            List<CompletionStage<List<Renewed>>> refreshes = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                refreshes.add(refresh(stores.get(i), waiters.get(i)));
            }
            for (CompletionStage<List<Renewed>> refresh : refreshes) {
                assertThat(get(refresh)).hasSize(EACH).allMatch(Renewed.Waiting.class::isInstance);
            }
            long refreshed = System.nanoTime();
            assertThat(waiters.stream().flatMap(List::stream).map(ManyWaitersTest::position))
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, CLIENTS * EACH).boxed().toList());
            assertThat(lost).isNotDone();
            assertThat(lease.isValid()).isTrue();
            lease.release();
            Waiter first = waiters.stream()
                    .flatMap(List::stream)
                    .filter(waiter -> position(waiter) == 0)
                    .findFirst()
                    .orElseThrow();
            awaitGrant(first.listener());
            System.out.printf(
                    "%,d waiters of %d clients: joined in %,d ms, refreshed in %,d ms%n",
                    CLIENTS * EACH, CLIENTS, (joined - begun) / 1_000_000, (refreshed - joined) / 1_000_000);
        }
    }
}
