package dev.holdfast.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memcached.LossyProxy.Loss;
import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.process.MemcachedServer;
import dev.holdfast.testkit.process.Ports;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a lost connection, a frozen server and one that is down do to calls. */
class FaultTest extends WithServer {

    private static MemcachedServer server;

    private LossyProxy proxy;
    private LockStore store;
    private LockStore direct;

    @BeforeAll
    static void startTheServer() {
        server = MemcachedServer.start();
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @BeforeEach
    void openStores() {
        proxy = closing(new LossyProxy(server.port()));
        store = open(proxy.url() + "?timeout=5s");
        direct = open(server.url());
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void lostAcquireIsRepairedByRepeatingIt(Loss loss) {
        Claim claim = alice.mutex(name);
        proxy.lose(loss, "add");
        assertThat(failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(holders(direct, name)).hasSize(loss == Loss.ANSWER ? 1 : 0);
        Granted repaired = (Granted) repaired(() -> get(store.tryAcquire(claim.again())));
        assertThat(holders(direct, name)).hasSize(1);
        assertThat(released(store, claim.again())).isTrue();
        assertThat(granted(direct, bob.mutex(name)).counter()).isGreaterThan(repaired.counter());
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void lostAcquireIsRepairedByReleasingIt(Loss loss) {
        Claim claim = alice.mutex(name);
        proxy.lose(loss, "add");
        assertThat(failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        boolean held = repaired(() -> released(store, claim.again()));
        assertThat(held).isEqualTo(loss == Loss.ANSWER);
        assertThat(get(store.tryAcquire(claim))).as("a late copy is refused").isInstanceOf(Attempt.Busy.class);
        granted(direct, bob.mutex(name));
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void lostJoinIsRepairedByRepeatingIt(Loss loss) {
        granted(direct, bob.read(name));
        Claim claim = alice.read(name);
        proxy.lose(loss, "cas");
        assertThat(failure(store.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        repaired(() -> get(store.tryAcquire(claim.again())));
        assertThat(holders(direct, name)).hasSize(2);
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void lostRenewalIsRepairedByRepeatingIt(Loss loss) {
        Claim claim = alice.mutex(name);
        long counter = granted(store, claim).counter();
        proxy.lose(loss, "cas");
        assertThat(failure(store.renew(List.of(claim))).effect()).isEqualTo(Effect.UNKNOWN);
        Renewed repaired = repaired(() -> renewed(store, claim));
        assertThat(((Granted) repaired).counter()).isEqualTo(counter);
        busy(direct, bob.mutex(name));
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void lostReleaseIsRepairedByRepeatingIt(Loss loss) {
        Claim claim = alice.mutex(name);
        granted(store, claim);
        proxy.lose(loss, "cas");
        assertThat(failure(store.release(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(repaired(() -> released(store, claim.again()))).isEqualTo(loss == Loss.REQUEST);
        granted(direct, bob.mutex(name));
        assertThat(released(store, claim.again())).isFalse();
        assertThat(holders(direct, name)).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void lostReadingHasNoEffect(Loss loss) {
        proxy.lose(loss, "gets");
        assertThat(failure(store.inspect(name)).effect()).isEqualTo(Effect.NONE);
        assertThat(repaired(() -> get(store.inspect(name)))).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void connectionThatIsLostWhileItIsMadeHasNoEffect(Loss loss) {
        proxy.lose(Loss.REQUEST, "gets");
        failure(store.inspect(name));
        proxy.lose(loss, "stats");
        assertThat(failure(store.tryAcquire(alice.mutex(name))).effect()).isEqualTo(Effect.NONE);
        repaired(() -> get(store.tryAcquire(alice.mutex(name))));
    }

    @Test
    void downServerIsReportedAsDown() {
        String url = "memcached://127.0.0.1:" + Ports.reserve();
        assertThatThrownBy(() -> open(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(url)
                .hasMessageContaining("Is the server running");
    }

    @Test
    void frozenServerEndsCallsInTimeAndLostAnswersAreRepaired() {
        LockStore quick = repaired(() -> open(server.url() + "?timeout=500ms"));
        Claim claim = alice.mutex(name);
        server.signal("STOP");
        StoreException frozen;
        StoreException notConnected;
        try {
            frozen = failure(quick.tryAcquire(claim));
            awaitUntil(() -> failure(quick.inspect(name)).getMessage().contains("did not answer"));
            notConnected = failure(quick.tryAcquire(bob.mutex(name)));
        } finally {
            server.signal("CONT");
        }
        assertThat(frozen.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(frozen.retryable()).isTrue();
        assertThat(notConnected.retryable()).isTrue();
        repaired(() -> get(quick.release(claim.again())));
        Attempt late = repaired(() -> get(quick.tryAcquire(claim)));
        assertThat(late).as("a late copy is refused").isInstanceOf(Attempt.Busy.class);
        assertThat(repaired(() -> get(quick.inspect(name)))).isEmpty();
    }

    @Test
    void nothingIsSentAfterTheTimeIsOver() {
        LockStore quick = repaired(() -> open(proxy.url() + "?timeout=300ms"));
        Claim claim = alice.read(name);
        Claim holder = bob.read(name);
        granted(direct, holder);
        // The answer to the add, that there is a record, is kept back until the call is over.
        proxy.answerAfter("never");
        assertThat(failure(quick.tryAcquire(claim)).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(proxy.commands()).doesNotContain("cas");
        assertThat(holders(direct, name)).extracting(Claim::id).containsExactly(holder.id());
    }

    // The clock of the limit is moved, so that only the limit of the whole call can have ended it.
    @Test
    void callAboutManyNamesEndsWithinItsOwnTimeLimit() {
        ManualClock clock = new ManualClock(Seeds.of("limit"));
        List<Runnable> sweeps = new CopyOnWriteArrayList<>();
        LockStore many = closing(MemcachedLockStore.opened(
                MemcachedUrl.parse(proxy.url() + "?timeout=8s"),
                MonotonicClock.SYSTEM,
                limit -> new TimeLimit(limit, clock, delay -> sweeps::add)));
        List<Claim> claims = IntStream.range(0, 300)
                .mapToObj(i -> alice.mutex(new LockName(name + "-" + i)))
                .toList();
        proxy.answerAfter("never");
        CompletableFuture<List<Renewed>> renewed = many.renew(claims).toCompletableFuture();
        CompletableFuture<List<LockName>> listed = many.list("", 1).toCompletableFuture();
        clock.advance(many.traits().callTimeout());
        sweeps.forEach(Runnable::run);
        assertThat(failure(renewed)).hasMessageContaining("about all names within 17000 ms");
        assertThat(failure(renewed).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure(listed).effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void openingOfAServerThatIsFrozenEndsAfterItsTimeLimit() throws Exception {
        try (ServerSocket frozen = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            String url = "memcached://127.0.0.1:" + frozen.getLocalPort()
                    + "?timeout=8s"; // a longer one than that of opening
            assertThatThrownBy(() -> open(url))
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            failure -> assertThat(failure.effect()).isEqualTo(Effect.NONE))
                    .hasMessageContaining("did not accept a connection within 10 s");
        }
    }

    @Test
    void closedStoreLeavesNoThread() {
        LockStore other = open(server.url());
        granted(other, alice.mutex(name));
        store.close();
        direct.close();
        other.close();
        awaitUntil(
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith("holdfast-memcached")),
                "threads are left");
    }
}
