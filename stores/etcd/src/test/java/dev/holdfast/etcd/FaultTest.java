package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LossReason;
import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.process.Ports;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.TxnRequest;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.internal.BackoffPolicy;
import io.grpc.netty.NettyChannelBuilder;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** How the store behaves when servers, connections and leases fail. */
class FaultTest extends WithPlainServer {

    private static final Duration SHORT_SESSION = Duration.ofSeconds(2);

    @Test
    void holdersAndWaitersOutliveARestartOfTheServer() {
        LockStore store = open("?session=60s&timeout=4s");
        LockStore other = open("?session=60s&timeout=4s");
        Claim holder = alice.mutex(name);
        long counter = granted(store, holder).counter();
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        server.kill();
        StoreException failure = failure(store.renew(List.of(holder)));
        assertThat(failure.retryable()).isTrue();
        StoreException refused = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(refused.retryable()).isTrue();
        server.startAgain();
        List<Renewed> answers = repaired(() -> get(store.renew(List.of(holder, waiter))));
        assertThat(answers.get(0)).isInstanceOf(Granted.class);
        assertThat(((Granted) answers.get(0)).counter()).isEqualTo(counter);
        assertThat(answers.get(1)).isInstanceOf(Renewed.Waiting.class);
        // The watch broke with the server, and was made again.
        repaired(() -> get(other.release(holder)));
        awaitGrant(listener);
    }

    // After a long outage gRPC waits up to two minutes before it connects again. Here it would wait for an hour.
    @Test
    void serverThatIsBackIsFoundWhateverGrpcsBackOffIs() throws ReflectiveOperationException {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.port())
                .usePlaintext()
                .build();
        closing((AutoCloseable) channel::shutdownNow);
        waitsForAnHour(channel);
        LockStore store = closing(EtcdLockStore.over(channel, "session=5m&timeout=4s"));
        Claim holder = alice.mutex(name);
        granted(store, holder);
        server.kill();
        awaitUntil(() -> {
            assertThat(failure(store.renew(List.of(holder))).retryable()).isTrue();
            return channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE;
        });
        server.startAgain();
        assertThat(repaired(() -> renewed(store, holder))).isInstanceOf(Granted.class);
    }

    private static void waitsForAnHour(ManagedChannel channel) throws ReflectiveOperationException {
        Field real = Class.forName("io.grpc.internal.ForwardingManagedChannel").getDeclaredField("delegate");
        real.setAccessible(true);
        Object delegate = real.get(channel);
        Field backOff = delegate.getClass().getDeclaredField("backoffPolicyProvider");
        backOff.setAccessible(true);
        BackoffPolicy hour = () -> Duration.ofHours(1).toNanos();
        backOff.set(delegate, (BackoffPolicy.Provider) () -> hour);
    }

    @Test
    void downServerIsReportedAsDown() {
        String url = "etcd://127.0.0.1:" + Ports.reserve();
        assertThatThrownBy(() -> openUrl(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("Cannot connect")
                .hasMessageContaining("is the server running");
    }

    @Test
    void frozenServerEndsCallsInTimeAndLostRepliesAreRepaired() {
        LockStore store = repaired(() -> open("?session=20s&timeout=500ms"));
        Claim claim = alice.mutex(name);
        server.signal("STOP");
        StoreException failure;
        try {
            failure = failure(store.tryAcquire(claim));
        } finally {
            server.signal("CONT");
        }
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        repaired(() -> get(store.release(claim.again())));
        Attempt late = repaired(() -> get(store.tryAcquire(claim)));
        assertThat(late).as("a late copy is refused").isInstanceOf(Attempt.Busy.class);
        assertThat(repaired(() -> get(store.inspect(name)))).isEmpty();
    }

    // jetcd#965 and #1383: a keep-alive that becomes silent. The client notices by its local clock.
    @Test
    void silentSessionIsLostOnTheLocalDeadline() throws InterruptedException {
        LockStore store = repaired(() -> open("?session=2s&timeout=500ms"));
        try (Holdfast locks = Holdfast.over(store)) {
            Lease lease = locks.lock(name.value()).acquire();
            AtomicReference<LossReason> lost = new AtomicReference<>();
            CountDownLatch notified = new CountDownLatch(1);
            lease.onLost(reason -> {
                lost.set(reason);
                notified.countDown();
            });
            long frozen = System.nanoTime();
            server.signal("STOP");
            try {
                // The server stays frozen, so only the local clock can show the loss.
                awaitUntil(() -> System.nanoTime() - frozen >= SHORT_SESSION.toNanos());
                assertThat(lease.isValid()).isFalse();
                assertThat(notified.await(1, TimeUnit.MINUTES)).isTrue();
            } finally {
                server.signal("CONT");
            }
            assertThat(lost.get()).isIn(LossReason.STORE_UNREACHABLE, LossReason.EXPIRED);
        }
    }

    // jetcd#686: the keep-alive of a lease that is gone already.
    @Test
    void revokedLeaseEndsHoldersAndWaitersAndANewOneIsMade() {
        LockStore store = open("?session=3s");
        LockStore other = open("?session=20s");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim foreign = alice.mutex(new dev.holdfast.spi.LockName(name + "-2"));
        granted(other, foreign);
        RecordingListener waiter = waiting(store, bob.mutex(foreign.name()));
        revokeLeaseOf(holder);
        assertThat(renewed(store, holder)).isInstanceOf(Renewed.Gone.class);
        awaitEnd(waiter);
        granted(store, alice.mutex(name));
    }

    @Test
    void orphanOfALostUndoIsSweptWithTheNextRenewal() {
        FaultyClient client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        LockStore store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=6s"), MonotonicClock.SYSTEM));
        granted(store, alice.mutex(name));
        Claim otherKind = bob.read(name);
        client.losesRequest = FaultyClient::deletes;
        RecordingListener refused = enqueued(store, otherKind);
        assertThat(refused.first(RecordingListener.Event.Failed.class)
                        .orElseThrow()
                        .cause())
                .isInstanceOf(KindConflictException.class);
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(1);
        client.losesRequest = request -> false;
        awaitUntil(() -> get(store.inspect(name)).orElseThrow().waiters().isEmpty());
        assertThat(get(store.inspect(name)).orElseThrow().holders()).hasSize(1);
    }

    @Test
    void lostAnswersAreRepairedByRepeating() {
        FaultyClient client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        LockStore store = closing(EtcdLockStore.opened(client, EtcdOptions.DEFAULTS, MonotonicClock.SYSTEM));
        Claim claim = alice.mutex(name);
        client.losesAnswer = FaultyClient::puts;
        assertThat(failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        client.losesAnswer = request -> false;
        long counter = granted(store, claim.again()).counter();
        Claim waiter = bob.mutex(name);
        client.losesAnswer = FaultyClient::puts;
        RecordingListener lost = enqueued(store, waiter);
        assertThat(lost.first(RecordingListener.Event.Failed.class)).isPresent();
        client.losesAnswer = request -> false;
        RecordingListener again = waiting(store, waiter.again());
        client.losesAnswer = FaultyClient::deletes;
        assertThat(failure(store.release(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        client.losesAnswer = request -> false;
        assertThat(awaitGrant(again).counter()).isGreaterThan(counter);
        assertThat(get(store.release(claim.again())).wasOwner()).isFalse();
        assertThat(get(store.inspect(name)).orElseThrow().holders()).hasSize(1);
    }

    @Test
    void watchFromACompactedRevisionReportsMissedRevisions() throws InterruptedException {
        long old = revisionOf(server.control("put", "compacted", "1", "--write-out=json"));
        long last = old;
        for (int i = 0; i < 5; i++) {
            last = revisionOf(server.control("put", "compacted", "2", "--write-out=json"));
        }
        server.control("compact", Long.toString(last));
        BlockingQueue<String> reported = new LinkedBlockingQueue<>();
        try (EtcdClient client = EtcdChannels.open(EtcdUrl.parse(server.url()))) {
            client.watch(ByteString.copyFromUtf8("compacted"), false, old, new EtcdClient.WatchListener() {
                @Override
                public void onEvents(List<Event> events) {
                    events.forEach(
                            event -> reported.add(event.getKv().getValue().toStringUtf8()));
                }

                @Override
                public void onStarted(boolean missed) {
                    reported.add(missed ? "missed" : "started");
                }

                @Override
                public void onClosed() {
                    reported.add("closed");
                }
            });
            assertThat(reported.poll(10, TimeUnit.SECONDS)).isEqualTo("missed");
            server.control("put", "compacted", "3");
            assertThat(reported.poll(10, TimeUnit.SECONDS)).isEqualTo("3");
            assertThat(reported).isEmpty();
        }
    }

    /** Before, the server's refusal of the second page was taken for one of the call. */
    @Test
    void queueThatIsCompactedBetweenTwoPagesIsReadAnew() {
        FaultyClient client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        LockStore store = closing(EtcdLockStore.opened(client, EtcdOptions.DEFAULTS, MonotonicClock.SYSTEM));
        putStrangers(client, 0, 120);
        putStrangers(client, 120, 240);
        AtomicInteger compactions = new AtomicInteger();
        client.losesRequest = request -> {
            if (request.getSuccess(0).getRequestRange().getRevision() > 0 && compactions.getAndIncrement() == 0) {
                long now = revisionOf(server.control("put", "compacted", "1", "--write-out=json"));
                server.control("compact", Long.toString(now));
            }
            return false;
        };
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(239);
        assertThat(compactions).hasValue(2);
    }

    private void putStrangers(EtcdClient client, int from, int to) {
        TxnRequest.Builder request = TxnRequest.newBuilder();
        for (int i = from; i < to; i++) {
            request.addSuccess(Txns.put(
                    ByteString.copyFromUtf8(EtcdOptions.DEFAULTS.prefix() + name + "/" + i), ByteString.EMPTY, 0));
        }
        get(client.txn(request.build(), true));
    }

    @Test
    void watchesThatAreRefusedAreAskedForAtGrowingIntervals() {
        FaultyClient faulty = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        CountingClient client = new CountingClient(faulty);
        ManualClock clock = new ManualClock();
        LockStore store = closing(EtcdLockStore.opened(client, EtcdOptions.DEFAULTS, clock));
        granted(open(""), alice.mutex(name));
        faulty.refusesWatches = true;
        waiting(store, bob.mutex(name));
        for (int i = 0; i < 500; i++) {
            clock.advance(Duration.ofMillis(10));
            pause(1);
        }
        // After 50, 150, 350, 750 and 1,550 ms, and every 800 ms from then on.
        assertThat(client.watches.get()).isBetween(2, 2 * 11);
        faulty.refusesWatches = false;
        awaitUntil(() -> {
            clock.advance(Duration.ofMillis(1));
            return client.started.get() >= 2;
        });
    }

    @Test
    void leaseShorterThanTheSessionIsKeptByTheClient() {
        LockStore store = open("?session=20s");
        LockStore other = open("");
        Claim brief = alice.mutex(name).withLease(Duration.ofMillis(300));
        granted(store, brief);
        awaitGrant(enqueued(other, bob.mutex(name)));
        assertThat(renewed(store, brief)).isEqualTo(new Renewed.Gone(Renewed.Reason.TAKEN));
    }

    private static long revisionOf(String json) {
        return Long.parseLong(json.replaceAll("(?s).*\"revision\":(\\d+).*", "$1"));
    }
}
