package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A session counts from before the request that began or renewed it was sent (law 5). The client's clock stands still but for
 * the time that the answer is on its way.
 */
class SessionTimeTest extends WithPlainServer {

    private static final Duration SESSION = Duration.ofSeconds(60);
    private static final Duration ON_ITS_WAY = Duration.ofSeconds(10);

    private final ManualClock clock = new ManualClock();
    private final CompletableFuture<Void> arrival = new CompletableFuture<>();
    private FaultyClient client;
    private LockStore store;

    @BeforeEach
    void openTheStore() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=60s"), clock));
    }

    private void letAnswersArriveLate() {
        clock.advance(ON_ITS_WAY);
        arrival.complete(null);
    }

    @Test
    void newSessionCountsFromItsRequest() {
        client.grantsWaitFor = arrival;
        CompletionStage<Attempt> attempt = store.tryAcquire(alice.mutex(name));
        letAnswersArriveLate();
        assertThat(((Granted) get(attempt)).lease()).isEqualTo(SESSION.minus(ON_ITS_WAY));
    }

    @Test
    void renewedSessionCountsFromItsRenewal() {
        Claim holder = alice.mutex(name);
        assertThat(granted(store, holder).lease()).isEqualTo(SESSION);
        client.keepAlivesWaitFor = arrival;
        CompletionStage<List<Renewed>> renewal = store.renew(List.of(holder));
        letAnswersArriveLate();
        // The caller counts from when it has sent this.
        assertThat(((Granted) get(renewal).get(0)).lease()).isEqualTo(SESSION);
    }
}
