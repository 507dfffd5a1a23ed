package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.SignalCost;
import dev.holdfast.testkit.WrappedClock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** The number of requests that each operation sends, counted at the client. */
class TripCountTest extends WithPlainServer {

    /** The keys that a test leaves do not expire in the midst of a later one: each write of others may cost a watch a read. */
    private static final String LONG_SESSION = "?session=1h";

    private CountingClient client;

    private LockStore counted() {
        EtcdUrl url = EtcdUrl.parse(server.url() + LONG_SESSION);
        client = new CountingClient(EtcdChannels.open(url));
        LockStore store = closing(EtcdLockStore.opened(client, url.options(), MonotonicClock.SYSTEM));
        client.reset();
        return store;
    }

    @Test
    void freeAcquireAndReleaseAreOneTransactionEach() {
        LockStore store = counted();
        Claim mutex = alice.mutex(name);
        granted(store, mutex);
        assertThat(sent()).containsExactly(1, 0, 0, 0);
        get(store.release(mutex));
        assertThat(sent()).containsExactly(2, 0, 0, 0);
        Claim queued = alice.mutex(name);
        awaitGrant(enqueued(store, queued));
        get(store.release(queued));
        assertThat(sent()).containsExactly(4, 0, 0, 0);
    }

    @Test
    void busyAttemptIsOneTransactionAndWritesNothing() {
        LockStore store = counted();
        granted(open(LONG_SESSION), alice.mutex(name));
        long before = revision();
        assertThat(get(store.tryAcquire(bob.mutex(name)))).isInstanceOf(Attempt.Busy.class);
        assertThat(sent()).containsExactly(1, 0, 0, 0);
        assertThat(revision()).isEqualTo(before);
    }

    @Test
    void semaphoreAcquireIsOneTransactionAndAnAttemptBesideOthersTwo() {
        LockStore store = counted();
        Claim two = alice.claim(name, 2, 5);
        awaitGrant(enqueued(store, two));
        assertThat(sent()).containsExactly(1, 0, 0, 0);
        awaitGrant(enqueued(store, alice.claim(name, 2, 5)));
        assertThat(sent()).containsExactly(2, 0, 0, 0);
        granted(store, bob.claim(name, 1, 5));
        assertThat(sent()).containsExactly(4, 0, 0, 0);
        get(store.release(two));
        assertThat(sent()).containsExactly(5, 0, 0, 0);
    }

    @Test
    void handOffWithOneAheadIsAnEventAndNoRoundTrip() {
        LockStore store = counted();
        LockStore other = open(LONG_SESSION);
        for (Function<LockName, Claim> kind : List.<Function<LockName, Claim>>of(alice::mutex, alice::write)) {
            Claim holder = kind.apply(name);
            granted(other, holder);
            Claim waiter = kind.apply(name);
            client.reset();
            RecordingListener listener = waiting(store, waiter);
            awaitUntil(() -> client.started.get() == 2);
            assertThat(client.txns).hasValue(1);
            get(other.release(holder));
            awaitGrant(listener);
            assertThat(sent()).containsExactly(1, 2, 0, 0);
            get(store.release(waiter));
        }
    }

    @Test
    void oneLookServesBothWatchesOfAWaiterThatMayHaveMissedSomething() {
        LockStore store = counted();
        granted(open(LONG_SESSION), bob.mutex(name));
        client.watchesMiss = true;
        waiting(store, alice.mutex(name));
        awaitUntil(() -> client.isAtRestWith(2));
        // A second look would be sent when the first one is answered.
        get(store.inspect(name));
        assertThat(client.txns).as("to join, to look, to inspect").hasValue(3);
    }

    @Test
    void readersBehindOneWriterAreGrantedByItsEvent() {
        LockStore store = counted();
        LockStore other = open(LONG_SESSION);
        Claim writer = bob.write(name);
        granted(other, writer);
        RecordingListener first = waiting(store, alice.read(name));
        awaitUntil(() -> client.started.get() == 2);
        RecordingListener second = waiting(store, alice.read(name));
        awaitUntil(() -> client.started.get() == 4);
        get(other.release(writer));
        awaitGrant(first);
        awaitGrant(second);
        assertThat(client.txns).hasValue(2);
    }

    @Test
    void renewalOfWatchedHoldersDoesNotDependOnTheirNumber() {
        LockStore store = counted();
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, claims.get(i));
        }
        client.reset();
        assertThat(get(store.renew(claims))).hasSize(120).allMatch(Granted.class::isInstance);
        assertThat(sent()).as("each key is watched from now on").containsExactly(2, 120, 1, 0);
        awaitUntil(() -> client.started.get() == 120);
        for (int i = 0; i < 4; i++) {
            client.reset();
            assertThat(get(store.renew(claims))).hasSize(120).allMatch(Granted.class::isInstance);
            assertThat(sent()).as("60 keys are read each time").containsExactly(1, 0, 1, 0);
            assertThat(client.asked).hasValue(1);
        }
        client.reset();
        assertThat(renewed(store, claims.get(0))).isInstanceOf(Granted.class);
        assertThat(sent()).containsExactly(1, 0, 1, 0);
    }

    @Test
    void maintenanceThreadSleepsWhileNothingIsDue() {
        AtomicInteger parks = new AtomicInteger();
        MonotonicClock counting = new WrappedClock(MonotonicClock.SYSTEM) {
            @Override
            public void parkNanos(Object blocker, long nanos) {
                parks.incrementAndGet();
                super.parkNanos(blocker, nanos);
            }
        };
        LockStore store = closing(new EtcdLockStoreProvider().open(server.url(), counting));
        granted(store, alice.mutex(name));
        parks.set(0);
        pause(500);
        // A renewal is due every few seconds; a thread that wakes itself parks some ten thousand times.
        assertThat(parks.get()).isLessThan(20);
    }

    @Test
    void messagesForAHandOffDoNotGrowWithTheNumberOfWaiters() {
        List<Function<LockName, Claim>> kinds =
                List.of(alice::mutex, name -> alice.claim(name, 1, 2), name -> alice.claim(name, 2, 3));
        for (Function<LockName, Claim> kind : kinds) {
            double few = messagesForAGrant(kind, 4);
            double some = messagesForAGrant(kind, 16);
            double many = messagesForAGrant(kind, 64);
            System.out.println(
                    "messages for a grant: " + few + " with 4 waiters, " + some + " with 16, " + many + " with 64");
            assertDoesNotGrow(few, some, many);
        }
    }

    @Test
    void messagesForReadersBehindWritersDoNotGrowWithTheNumberOfWaiters() {
        Function<LockName, Claim> mixed = new Function<>() {
            private int number;

            @Override
            public Claim apply(LockName of) {
                return number++ % 4 == 0 ? alice.write(of) : alice.read(of);
            }
        };
        double few = messagesForAGrant(mixed, 8);
        double some = messagesForAGrant(mixed, 16);
        double many = messagesForAGrant(mixed, 64);
        System.out.println("messages for a grant, readers and writers: " + few + " with 8, " + some + " with 16, "
                + many + " with 64");
        assertDoesNotGrow(few, some, many);
    }

    /**
     * If all waiters woke at each grant, the messages would grow with the waiters: 4 times from 16 to 64. A factor
     * of 1.5 allows for differences at the ends of a queue: no claim watches the last one, and how many are granted
     * by one event depends on who came first.
     */
    private static void assertDoesNotGrow(double few, double some, double many) {
        assertThat(many).isLessThanOrEqualTo(1.5 * few).isLessThanOrEqualTo(1.5 * some);
    }

    // Many waiters queue up behind one holder of everything, and each releases when it is granted.
    private double messagesForAGrant(Function<LockName, Claim> kind, int waiters) {
        LockStore store = counted();
        LockName contended = new LockName(name + "-" + waiters + "-" + System.nanoTime());
        Claim sample = kind.apply(contended);
        Claim holder = bob.claim(contended, sample.limit(), sample.limit());
        granted(store, holder);
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            claims.add(kind.apply(contended));
            listeners.add(waiting(store, claims.get(i)));
        }
        client.reset();
        get(store.release(holder));
        for (int i = 0; i < waiters; i++) {
            awaitGrant(listeners.get(i));
            get(store.release(claims.get(i)));
        }
        return (double) client.messages() / waiters;
    }

    /** The release of another client's place reads a short queue with its first transaction, and a long one with a second. */
    @Test
    void signalIsThreeOrFourTransactionsWhateverTheCrowdAndTheOthersDoNothing() {
        LockStore others = counted();
        CountingClient theirs = client;
        LockStore store = counted();
        AtomicInteger crowd = new AtomicInteger();
        Runnable reset = () -> {
            // A waiter far behind begins to watch its place some milliseconds after it has joined, and reads the queue
            // if others have joined it meanwhile.
            awaitUntil(() -> theirs.isAtRestWith(crowd.get()));
            client.reset();
            theirs.reset();
        };
        SignalCost<List<Integer>> cost = new SignalCost<>(
                store,
                others,
                reset,
                () -> List.of(client.txns.get(), client.watches.get(), theirs.txns.get(), theirs.watches.get()));
        int few = 3 * SignalCost.SIGNALS;
        int many = 4 * SignalCost.SIGNALS;
        crowd.set(SignalCost.FEW);
        assertThat(cost.ofSignals(name + "-few", crowd.get())).containsExactly(few, 0, 0, 0);
        crowd.set(SignalCost.MANY);
        assertThat(cost.ofSignals(name + "-many", crowd.get())).containsExactly(many, 0, 0, 0);
        crowd.set(2 * SignalCost.MANY);
        assertThat(cost.ofSignals(name + "-more", crowd.get())).containsExactly(many, 0, 0, 0);
        crowd.set(SignalCost.MANY);
        List<Integer> all = cost.ofSignalAll(name + "-all", crowd.get());
        assertThat(all.get(0)).isBetween(1 + 2 * SignalCost.MANY, 1 + 3 * SignalCost.MANY);
        assertThat(all.subList(1, all.size())).containsOnly(0);
    }

    private List<Integer> sent() {
        return List.of(client.txns.get(), client.watches.get(), client.keepAlives.get(), client.others.get());
    }

    private long revision() {
        return Long.parseLong(server.control("endpoint", "status", "--write-out=json")
                .replaceAll("(?s).*\"revision\":(\\d+).*", "$1"));
    }
}
