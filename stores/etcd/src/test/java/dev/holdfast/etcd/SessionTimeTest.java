package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
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
    private FaultyClient client;

    @BeforeEach
    void connect() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
    }

    private LockStore open() {
        return closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=60s"), clock));
    }

    private void answersAreOnTheirWay() {
        client.beforeLeaseAnswer = () -> clock.advance(ON_ITS_WAY);
    }

    @Test
    void newSessionCountsFromItsRequest() {
        answersAreOnTheirWay();
        assertThat(granted(open(), alice.mutex(name)).lease()).isEqualTo(SESSION.minus(ON_ITS_WAY));
    }

    /** Before, the thread that renews the session ended, and each session of the client ended after its time. */
    @Test
    void sessionIsRenewedAfterARenewalForWhichThereWasNoMemory() {
        CountDownLatch renewals = new CountDownLatch(3);
        client.beforeKeepAlive = () -> {
            renewals.countDown();
            if (renewals.getCount() == 2) {
                throw new OutOfMemoryError("by the test");
            }
        };
        LockStore store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=1s"), MonotonicClock.SYSTEM));
        granted(store, alice.mutex(name));
        awaitUntil(() -> renewals.getCount() == 0);
    }

    @Test
    void renewedSessionCountsFromItsRenewal() {
        LockStore store = open();
        Claim holder = alice.mutex(name);
        assertThat(granted(store, holder).lease()).isEqualTo(SESSION);
        answersAreOnTheirWay();
        // The caller counts from when it has sent this.
        assertThat(((Granted) renewed(store, holder)).lease()).isEqualTo(SESSION);
    }
}
