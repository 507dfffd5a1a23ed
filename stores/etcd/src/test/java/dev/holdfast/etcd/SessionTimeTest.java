package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.ManualClock;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
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

    /** The engine takes clocks to differ by a hundredth at most. */
    private static final int MARGIN_PART = 100;

    private final ManualClock clock = new ManualClock();
    private FaultyClient client;

    @BeforeEach
    void connect() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
    }

    private LockStore open() {
        return closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=60s"), clock));
    }

    /** What the engine makes of a lease, but for a fixed time of its own. */
    private static Duration validFor(Granted granted) {
        return withoutMargin(granted.lease());
    }

    /** Rounded to microseconds, since two divisions are. */
    private static Duration withoutMargin(Duration time) {
        return time.minus(time.dividedBy(MARGIN_PART)).plusNanos(500).truncatedTo(ChronoUnit.MICROS);
    }

    private void answersAreOnTheirWay() {
        client.beforeLeaseAnswer = () -> clock.advance(ON_ITS_WAY);
    }

    @Test
    void newSessionCountsFromItsRequest() {
        answersAreOnTheirWay();
        assertThat(validFor(granted(open(), alice.mutex(name))))
                .isEqualTo(withoutMargin(SESSION).minus(ON_ITS_WAY));
    }

    /** Before, the margin was for the rest of the session only, and not for the time since its last renewal. */
    @Test
    void clocksMayHaveDriftedApartSinceTheLastRenewal() {
        LockStore store = open();
        client.losesSession = true;
        clock.advance(SESSION.dividedBy(2));
        Claim holder = alice.mutex(name);
        assertThat(validFor(granted(store, holder)))
                .isEqualTo(withoutMargin(SESSION).minus(SESSION.dividedBy(2)));
        clock.advance(withoutMargin(SESSION).minus(SESSION.dividedBy(2)));
        Claim next = bob.mutex(new LockName(name + "-2"));
        granted(store, next);
        assertThat(server.leaseOf(next)).isNotEqualTo(server.leaseOf(holder));
    }

    /** Its key was read before the servers ended it. Before, the claim was granted for no time at all. */
    @Test
    void claimUnderASessionThatHasEndedIsGone() {
        LockStore store = open();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        client.revokesWaitFor = () -> CompletableFuture.failedStage(FaultyClient.LOST);
        clock.advance(withoutMargin(SESSION));
        client.keepAliveAnswer = 0L;
        assertThat(renewed(store, holder)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
    }

    /** The servers may learn late that the client has given it up. Before, the claim was granted for as long as it lived there. */
    @Test
    void claimUnderASessionThatIsBeingEndedIsGone() throws InterruptedException {
        LockStore store = open();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        CompletableFuture<Void> mayEnd = new CompletableFuture<>();
        client.revokesWaitFor = () -> mayEnd;
        clock.advance(withoutMargin(SESSION));
        CountDownLatch isNewer = new CountDownLatch(1);
        client.beforeLeaseAnswer = isNewer::countDown;
        CompletionStage<List<Renewed>> renewal = store.renew(List.of(holder));
        isNewer.await();
        mayEnd.complete(null);
        assertThat(get(renewal)).containsExactly(new Renewed.Gone(Renewed.Reason.EXPIRED));
    }

    /** As for want of memory. Before, each renewal waited for an answer to it, and failed. */
    @Test
    void claimUnderASessionWhoseEndCannotBeSentIsGone() throws InterruptedException {
        LockStore store = open();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        CountDownLatch tried = new CountDownLatch(1);
        client.revokesWaitFor = () -> {
            tried.countDown();
            throw new OutOfMemoryError("by the test");
        };
        clock.advance(withoutMargin(SESSION));
        tried.await();
        client.revokesWaitFor = () -> CompletableFuture.completedStage(null);
        client.keepAliveAnswer = 0L;
        assertThat(renewed(store, holder)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
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
