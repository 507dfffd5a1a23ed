package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Long queues: what joins, refreshes and hand-offs cost, and that no answer is larger than a channel accepts. */
class ManyWaitersTest extends WithPlainServer {

    /** How many claims of a client are enqueued at the same time. */
    private static final int AT_ONCE = 25;

    private static final int CLIENTS = 10;

    private final AnswerMeter meter = new AnswerMeter();

    /** A store over a channel that has gRPC's usual limit for answers: 4 MB. */
    private LockStore metered() {
        return over(NettyChannelBuilder.forAddress("127.0.0.1", server.port()));
    }

    private LockStore over(NettyChannelBuilder builder) {
        ManagedChannel channel = builder.usePlaintext().intercept(meter).build();
        closing((AutoCloseable) channel::shutdownNow);
        return closing(EtcdLockStore.over(channel, "session=10m&timeout=8s"));
    }

    private record Waiter(Claim claim, RecordingListener listener) {}

    // Many at the same time, but not so many that a busy machine takes longer than one answer may take.
    private static List<Waiter> join(LockStore store, int number, LockName of, Function<LockName, Claim> kind) {
        List<Waiter> waiters = new ArrayList<>(number);
        for (int i = 0; i < number; i += AT_ONCE) {
            waiters.addAll(joinAtOnce(store, Math.min(AT_ONCE, number - i), of, kind));
            awaitAll(store, waiters);
        }
        return waiters;
    }

    private static List<Waiter> joinAtOnce(LockStore store, int number, LockName of, Function<LockName, Claim> kind) {
        List<Waiter> waiters = new ArrayList<>(number);
        for (int i = 0; i < number; i++) {
            Waiter waiter = new Waiter(kind.apply(of), new RecordingListener());
            waiters.add(waiter);
            store.enqueue(waiter.claim(), waiter.listener());
        }
        return waiters;
    }

    // A claim whose request failed on a busy machine is enqueued again, as the engine does.
    private static void awaitAll(LockStore store, List<Waiter> waiters) {
        for (int i = 0; i < waiters.size(); i++) {
            Waiter waiter = waiters.get(i);
            awaitUntil(waiter.listener()::wasNotified);
            RecordingListener.Event outcome = waiter.listener().outcome().orElse(null);
            if (outcome instanceof RecordingListener.Event.Failed failed) {
                assertThat(failed.cause().retryable()).as("%s", failed).isTrue();
                waiters.set(i, new Waiter(waiter.claim().again(), new RecordingListener()));
                store.enqueue(waiters.get(i).claim(), waiters.get(i).listener());
                i--;
            } else {
                assertThat(outcome).isNull();
            }
        }
    }

    private static List<Renewed> refreshed(LockStore store, List<Waiter> waiters) {
        return repaired(
                () -> get(store.renew(waiters.stream().map(Waiter::claim).toList())));
    }

    @Test
    void sevenHundredWaitersAreRefreshedOverAnUsualChannel() {
        LockStore store = metered();
        granted(store, alice.mutex(name));
        List<Waiter> waiters = join(store, 700, name, bob::mutex);
        assertThat(refreshed(store, waiters)).hasSize(700).allMatch(Renewed.Waiting.class::isInstance);
        assertThat(meter.largest.get()).isLessThan(1 << 20);
    }

    @Test
    void joiningAndRefreshingCostMoreWithMoreWaitersButNotTheirSquare() {
        for (Function<LockName, Claim> kind :
                List.<Function<LockName, Claim>>of(bob::mutex, of -> bob.claim(of, 1, 2), bob::write)) {
            long[] few = costs(200, kind);
            long[] many = costs(800, kind);
            System.out.printf(
                    "bytes with 200 and 800 waiters: %,d and %,d to join, %,d and %,d to refresh; "
                            + "requests to refresh: %d and %d, to join: %d and %d, for reads among these %d and %d%n",
                    few[0], many[0], few[1], many[1], few[2], many[2], few[3], many[3], few[4], many[4]);
            // Four times as many waiters; sixteen would be the square.
            for (int i = 0; i < few.length; i++) {
                assertThat(many[i]).isLessThanOrEqualTo(8 * few[i]);
            }
        }
    }

    private long[] costs(int number, Function<LockName, Claim> kind) {
        LockStore store = metered();
        LockName of = new LockName(name + "-" + System.nanoTime());
        Claim sample = kind.apply(of);
        Claim holder = alice.claim(of, sample.limit(), sample.limit());
        granted(store, holder);
        meter.reset();
        List<Waiter> waiters = join(store, number, of, kind);
        long join = meter.bytes.get();
        long requests = meter.requests.get();
        long reads = meter.answers.get() - number;
        // Those that joined last learn what to watch by the first refresh.
        refreshed(store, waiters);
        meter.reset();
        assertThat(refreshed(store, waiters)).allMatch(Renewed.Waiting.class::isInstance);
        long[] costs = {join, meter.bytes.get(), meter.answers.get(), requests, reads};
        store.close();
        return costs;
    }

    /** One waiter among many reads its own key and those just before it. */
    @Test
    void refreshOfOneWaiterDoesNotDependOnTheLengthOfTheQueue() {
        LockStore store = metered();
        LockStore others = open("?session=10m&timeout=8s");
        granted(others, alice.mutex(name));
        join(others, 300, name, bob::mutex);
        List<Waiter> one = join(store, 1, name, bob::mutex);
        join(others, 300, name, bob::mutex);
        meter.reset();
        Renewed answer = refreshed(store, one).get(0);
        assertThat(((Renewed.Waiting) answer).position()).isGreaterThanOrEqualTo(Renewed.Waiting.FAR);
        assertThat(meter.answers.get()).as("the keys, and no queue").isEqualTo(1);
        assertThat(meter.bytes.get()).isLessThan(4_096);
    }

    @Test
    void positionIsExactWhenTheQueueBeforeAWaiterHasBecomeShort() {
        LockStore store = open("?session=10m&timeout=8s");
        LockStore others = open("?session=10m&timeout=8s");
        Claim holder = alice.mutex(name);
        granted(others, holder);
        List<Waiter> before = join(others, 100, name, bob::mutex);
        Claim last = bob.mutex(name);
        waiting(store, last);
        assertThat(((Renewed.Waiting) renewed(store, last)).position()).isGreaterThanOrEqualTo(Renewed.Waiting.FAR);
        List<Waiter> staying = before.subList(40, 43);
        before.stream().filter(waiter -> !staying.contains(waiter)).forEach(waiter -> released(others, waiter.claim()));
        assertThat(((Renewed.Waiting) renewed(store, last)).position()).isEqualTo(3);
        released(store, last);
    }

    @Test
    void answerThatIsTooLargeLeavesTheEffectUnknown() {
        LockStore others = open("?session=10m&timeout=8s");
        granted(others, alice.mutex(name));
        join(others, 40, name, bob::mutex);
        LockStore small =
                over(NettyChannelBuilder.forAddress("127.0.0.1", server.port()).maxInboundMessageSize(2_048));
        RecordingListener listener = new RecordingListener();
        Claim claim = bob.mutex(name);
        small.enqueue(claim, listener);
        assertThat(failure(listener).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(get(others.inspect(name)).orElseThrow().waiters())
                .anyMatch(entry -> entry.claim().id().equals(claim.id()));
    }

    /** Ten clients with many waiters each, beside a holder: it takes seconds, and on a busy machine more than a minute. */
    @Test
    void holderNeverNoticesThousandsOfWaiters() {
        int number = Integer.getInteger("holdfast.waiters", 5_000);
        LockStore holders = open("?session=10m&timeout=8s");
        Claim holder = alice.mutex(name);
        granted(holders, holder);
        List<LockStore> stores = new ArrayList<>();
        List<List<Waiter>> waiters = new ArrayList<>();
        long begun = System.nanoTime();
        for (int i = 0; i < CLIENTS; i++) {
            stores.add(metered());
            waiters.add(new ArrayList<>());
        }
        for (int joined = 0; joined < number; joined += CLIENTS * AT_ONCE) {
            for (int i = 0; i < CLIENTS; i++) {
                waiters.get(i).addAll(joinAtOnce(stores.get(i), AT_ONCE, name, bob::mutex));
            }
            assertThat(repaired(() -> renewed(holders, holder))).isInstanceOf(Granted.class);
            for (int i = 0; i < CLIENTS; i++) {
                awaitAll(stores.get(i), waiters.get(i));
            }
        }
        long joined = System.nanoTime();
        assertThat(repaired(() -> renewed(holders, holder))).isInstanceOf(Granted.class);
        for (int i = 0; i < CLIENTS; i++) {
            assertThat(refreshed(stores.get(i), waiters.get(i))).allMatch(Renewed.Waiting.class::isInstance);
        }
        long refreshed = System.nanoTime();
        System.out.printf(
                "%,d waiters: joined in %,d ms, refreshed in %,d ms, %,d bytes, the largest answer %,d%n",
                waiters.stream().mapToInt(List::size).sum(),
                (joined - begun) / 1_000_000,
                (refreshed - joined) / 1_000_000,
                meter.bytes.get(),
                meter.largest.get());
        released(holders, holder);
        awaitUntil(() -> waiters.stream()
                .flatMap(List::stream)
                .anyMatch(waiter -> waiter.listener().outcome().isPresent()));
        assertThat(meter.largest.get()).isLessThan(4 << 20);
    }
}
