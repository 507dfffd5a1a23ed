package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.RecordingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The budget: what is sent, counted at the port. */
class TripCountTest extends WithServer {

    private static EtcdServer server;

    private CountingClient port;

    @BeforeAll
    static void startTheServer() {
        server = EtcdServer.start();
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @Override
    EtcdServer server() {
        return server;
    }

    private LockStore counted() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=60s");
        port = new CountingClient(EtcdChannels.open(url));
        LockStore store = closing(EtcdLockStore.opened(port, url.options(), MonotonicClock.SYSTEM));
        port.reset();
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
        granted(open(""), alice.mutex(name));
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
    void handOffWithOneAheadIsAnEventAndNoTrip() {
        LockStore store = counted();
        LockStore other = open("");
        for (Function<LockName, Claim> kind : List.<Function<LockName, Claim>>of(alice::mutex, alice::write)) {
            Claim holder = kind.apply(name);
            granted(other, holder);
            Claim waiter = kind.apply(name);
            port.reset();
            RecordingListener listener = waiting(store, waiter);
            awaitUntil(() -> port.begun.get() == 2);
            assertThat(port.txns).hasValue(1);
            get(other.release(holder));
            awaitGrant(listener);
            assertThat(sent()).containsExactly(1, 2, 0, 0);
            get(store.release(waiter));
        }
    }

    @Test
    void readersBehindOneWriterAreGrantedByItsEvent() {
        LockStore store = counted();
        LockStore other = open("");
        Claim writer = bob.write(name);
        granted(other, writer);
        RecordingListener first = waiting(store, alice.read(name));
        awaitUntil(() -> port.begun.get() == 2);
        RecordingListener second = waiting(store, alice.read(name));
        awaitUntil(() -> port.begun.get() == 4);
        get(other.release(writer));
        awaitGrant(first);
        awaitGrant(second);
        assertThat(port.txns).hasValue(2);
    }

    @Test
    void renewalOfAllIsOneBeatAndOneTransactionForSixty() {
        LockStore store = counted();
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            claims.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, claims.get(i));
        }
        port.reset();
        assertThat(get(store.renew(claims))).hasSize(120).allMatch(Renewed.Held.class::isInstance);
        assertThat(sent()).containsExactly(2, 0, 1, 0);
        port.reset();
        assertThat(renewed(store, claims.get(0))).isInstanceOf(Renewed.Held.class);
        assertThat(sent()).containsExactly(1, 0, 1, 0);
    }

    @Test
    void keeperSleepsWhileNothingIsDue() {
        AtomicInteger parks = new AtomicInteger();
        MonotonicClock counting = new MonotonicClock() {
            @Override
            public long nanoTime() {
                return MonotonicClock.SYSTEM.nanoTime();
            }

            @Override
            public long epochMicros() {
                return MonotonicClock.SYSTEM.epochMicros();
            }

            @Override
            public void parkNanos(Object blocker, long nanos) {
                parks.incrementAndGet();
                MonotonicClock.SYSTEM.parkNanos(blocker, nanos);
            }
        };
        LockStore store = closing(new EtcdLockStoreProvider().open(server().url(), counting));
        granted(store, alice.mutex(name));
        parks.set(0);
        pause(500);
        // A beat is due every few seconds; a keeper that wakes itself parks some ten thousand times.
        assertThat(parks.get()).isLessThan(20);
    }

    @Test
    void messagesForAHandOffDoNotGrowWithTheCrowd() {
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
    void messagesForReadersBehindWritersDoNotGrowWithTheCrowd() {
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
     * A herd would multiply the messages by the crowd, 4 times from 16 to 64. Half as much again is what the edges are
     * worth: nobody watches the last one of a queue, and how many are granted by one event depends on who came first.
     */
    private static void assertDoesNotGrow(double few, double some, double many) {
        assertThat(many).isLessThanOrEqualTo(1.5 * few).isLessThanOrEqualTo(1.5 * some);
    }

    // A crowd queues up behind one holder of everything, and each releases when it is granted.
    private double messagesForAGrant(Function<LockName, Claim> kind, int crowd) {
        LockStore store = counted();
        LockName contended = new LockName(name + "-" + crowd + "-" + System.nanoTime());
        Claim sample = kind.apply(contended);
        Claim holder = bob.claim(contended, sample.limit(), sample.limit());
        granted(store, holder);
        List<Claim> claims = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < crowd; i++) {
            claims.add(kind.apply(contended));
            listeners.add(waiting(store, claims.get(i)));
        }
        port.reset();
        get(store.release(holder));
        for (int i = 0; i < crowd; i++) {
            awaitGrant(listeners.get(i));
            get(store.release(claims.get(i)));
        }
        return (double) port.messages() / crowd;
    }

    private List<Integer> sent() {
        return List.of(port.txns.get(), port.watches.get(), port.keepAlives.get(), port.others.get());
    }

    private long revision() {
        return Long.parseLong(server.control("endpoint", "status", "--write-out=json")
                .replaceAll("(?s).*\"revision\":(\\d+).*", "$1"));
    }
}
