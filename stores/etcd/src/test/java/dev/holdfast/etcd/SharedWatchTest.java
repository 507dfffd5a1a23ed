package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import io.etcd.jetcd.api.Event;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** All who watch a key share one watch at the server, also those who come when nobody else watches it any more. */
class SharedWatchTest extends WithPlainServer {

    private EtcdClient client;

    @BeforeEach
    void openTheClient() {
        client = closing(EtcdChannels.open(EtcdUrl.parse(server.url())));
    }

    private static final class Reports implements EtcdClient.WatchListener {

        private final BlockingQueue<String> reported = new LinkedBlockingQueue<>();

        @Override
        public void onEvents(List<Event> events) {
            events.forEach(event -> reported.add(event.getKv().getValue().toStringUtf8()));
        }

        @Override
        public void onStarted(boolean missed) {
            reported.add(missed ? "missed" : "started");
        }

        @Override
        public void onClosed() {
            reported.add("closed");
        }

        private String next() throws InterruptedException {
            return reported.poll(30, TimeUnit.SECONDS);
        }
    }

    private EtcdClient.Watch watch(String key, long from, Reports reports) {
        return client.watch(ByteString.copyFromUtf8(key), false, from, reports);
    }

    private static long put(String key, String value) {
        return Long.parseLong(
                server.control("put", key, value, "--write-out=json").replaceAll("(?s).*\"revision\":(\\d+).*", "$1"));
    }

    /** The watches at the server, by its own count. */
    private static int watches() {
        try {
            HttpRequest metrics = HttpRequest.newBuilder(URI.create("http://" + server.address() + "/metrics"))
                    .build();
            String line = HttpClient.newHttpClient()
                    .send(metrics, HttpResponse.BodyHandlers.ofString())
                    .body()
                    .lines()
                    .filter(one -> one.startsWith("etcd_debugging_mvcc_watcher_total"))
                    .findFirst()
                    .orElseThrow();
            return (int) Double.parseDouble(line.substring(line.indexOf(' ') + 1));
        } catch (Exception failure) {
            throw new AssertionError(failure);
        }
    }

    @Test
    void whatAnIdleWatchHasSeenIsReportedAsMissed() throws InterruptedException {
        long first = put("idle", "1");
        Reports before = new Reports();
        EtcdClient.Watch watch = watch("idle", first + 1, before);
        assertThat(before.next()).isEqualTo("started");
        // Events of one stream come in the order of revisions, so the witness shows that an earlier one has arrived.
        Reports witness = new Reports();
        watch("witness", first + 1, witness);
        assertThat(witness.next()).isEqualTo("started");
        watch.close();
        long second = put("idle", "2");
        put("witness", "it has arrived");
        assertThat(witness.next()).isEqualTo("it has arrived");
        Reports late = new Reports();
        watch("idle", first + 1, late);
        assertThat(late.next()).isEqualTo("missed");
        Reports inTime = new Reports();
        watch("idle", second + 1, inTime);
        assertThat(inTime.next()).isEqualTo("started");
        awaitUntil(() -> watches() == 2);
        put("idle", "3");
        assertThat(inTime.next()).isEqualTo("3");
        assertThat(late.next()).isEqualTo("3");
        assertThat(before.reported).isEmpty();
    }

    @Test
    void idleWatchesAreFewAndEndWhenTheyCostMoreThanTheySave() throws InterruptedException {
        List<EtcdClient.Watch> watches = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            Reports reports = new Reports();
            watches.add(watch("many-" + i, 1, reports));
            assertThat(reports.next()).isNotNull();
        }
        watches.forEach(EtcdClient.Watch::close);
        awaitUntil(() -> watches() == 64);
        for (int i = 0; i < 3; i++) {
            put("many-79", "1");
        }
        awaitUntil(() -> watches() == 63);
    }

    @Test
    void watchIsClosedOnlyForTheOneWhoClosesIt() throws InterruptedException {
        Reports one = new Reports();
        Reports other = new Reports();
        long now = put("both", "0");
        EtcdClient.Watch closed = watch("both", now + 1, one);
        watch("both", now + 1, other);
        assertThat(one.next()).isEqualTo("started");
        assertThat(other.next()).isEqualTo("started");
        closed.close();
        put("both", "1");
        assertThat(other.next()).isEqualTo("1");
        assertThat(one.reported).isEmpty();
    }

    // The watch on what blocks it has begun long ago, and the watch on its own key begins too late.
    @Test
    void waiterWhoseKeyIsGoneBeforeItIsWatchedNeverHolds() {
        FaultyClient faulty = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        CountingClient counting = new CountingClient(faulty);
        LockStore store =
                closing(EtcdLockStore.opened(counting, EtcdOptions.parse("session=5m"), MonotonicClock.SYSTEM));
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim next = bob.mutex(name);
        RecordingListener granted = waiting(store, next);
        awaitUntil(() -> counting.started.get() == 2);
        Claim last = bob.mutex(name);
        // The third key of this client for the name.
        faulty.beforeFirstWatch = () -> server.control("del", newestKey());
        RecordingListener gone = enqueued(store, last);
        awaitUntil(() -> gone.outcome().isPresent());
        assertThat(awaitEnd(gone)).isEqualTo(Reason.RELEASED);
        released(store, holder);
        awaitGrant(granted);
    }

    private String newestKey() {
        return server.control(
                        "get",
                        "--prefix",
                        "holdfast/" + name + "/",
                        "--keys-only",
                        "--sort-by=CREATE",
                        "--order=DESCEND")
                .lines()
                .findFirst()
                .orElseThrow();
    }
}
