package dev.holdfast.redis;

import static dev.holdfast.testkit.StoreTest.awaitGrant;
import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static dev.holdfast.testkit.StoreTest.failure;
import static dev.holdfast.testkit.StoreTest.get;
import static dev.holdfast.testkit.StoreTest.granted;
import static dev.holdfast.testkit.StoreTest.renewed;
import static dev.holdfast.testkit.StoreTest.repaired;
import static dev.holdfast.testkit.StoreTest.waiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisSentinelClient;

/** Fail-overs, and grants that count only after replicas have acknowledged them. */
class SentinelTest {

    private static final Duration LONG = Duration.ofMinutes(10);

    @AutoClose
    private static RedisSentinels servers = RedisSentinels.start();

    private final Claimant alice = new Claimant("alice", LONG);
    private final Claimant bob = new Claimant("bob", LONG);
    private final LockName name = new LockName("test-" + UUID.randomUUID());
    private final List<AutoCloseable> opened = new ArrayList<>();

    @BeforeEach
    void allServersRun() {
        servers.heal();
    }

    @AfterEach
    void end() throws Exception {
        servers.servers().forEach(server -> server.signal("CONT"));
        servers.sentinels().forEach(sentinel -> sentinel.signal("CONT"));
        for (AutoCloseable one : opened) {
            one.close();
        }
    }

    @Test
    void heldLockSurvivesAFailOverAndItsWaiterGetsOn() throws Exception {
        // A replica has acknowledged the grant; the Sentinels promote one that has the latest data.
        Holdfast holder = connect("?ticketTtl=2s&replicas=2");
        Holdfast other = connect("?ticketTtl=2s");
        LockOptions options = LockOptions.defaults().withLease(Duration.ofSeconds(40));
        Lease lease = holder.lock(name.value(), options).acquire();
        CompletableFuture<Lease> next = other.lock(name.value(), options.withStoreTimeout(Duration.ofSeconds(60)))
                .acquireAsync();
        awaitUntil(() -> !holder.state(name.value()).orElseThrow().waiters().isEmpty());
        servers.failOver(RedisServer::kill);
        // Two replicas must acknowledge, but there is only one now, so renewals do not count until the second is
        // back.
        servers.heal();
        Duration before = lease.remaining();
        awaitUntil(() -> lease.remaining().compareTo(before) > 0);
        assertThat(lease.isValid()).isTrue();
        long token = lease.token();
        lease.close();
        Lease nextLease = next.get(20, TimeUnit.SECONDS);
        assertThat(nextLease.token()).isGreaterThan(token);
        nextLease.close();
    }

    @Test
    void grantThatTheNewPrimaryHasNotReceivedIsLostWithAReason() throws Exception {
        Holdfast holder = connect("");
        Holdfast other = connect("");
        LockOptions options =
                LockOptions.defaults().withLease(Duration.ofSeconds(9)).withStoreTimeout(Duration.ofSeconds(60));
        holder.lock(name + "-warm").acquire().close();
        servers.cutOffReplicas();
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        Lease lease = holder.lock(name.value(), options).acquire();
        lease.onLost(lost::complete);
        servers.failOver(RedisServer::kill);
        try (Lease second = other.lock(name.value(), options).acquire(Duration.ofSeconds(30))) {
            assertThat(second.token()).isGreaterThan(lease.token());
            assertThat(lost.get(10, TimeUnit.SECONDS)).isIn(LossReason.TAKEN, LossReason.EXPIRED);
            assertThat(lease.isValid()).isFalse();
        }
    }

    @Test
    void grantWithoutAcknowledgementIsReleasedAgain() {
        LockStore store = open("?replicas=1&replicaTimeout=200ms");
        LockStore plain = open("");
        repaired(() -> granted(store, alice.mutex(new LockName(name + "-warm"))));
        servers.replicas().forEach(replica -> replica.signal("STOP"));
        StoreException failure = failure(store.tryAcquire(alice.mutex(name)));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        assertThat(failure)
                .hasMessageContaining(name.value())
                .hasMessageContaining("0 of 1 replicas")
                .hasMessageContaining("released again");
        RecordingListener listener = new RecordingListener();
        store.enqueue(alice.mutex(name), listener);
        assertThat(failure(listener).effect()).isEqualTo(Effect.NONE);
        assertThat(failure(store.tryAcquireAll(List.of(alice.mutex(name), alice.mutex(new LockName(name + "2")))))
                        .effect())
                .isEqualTo(Effect.NONE);
        // No grant was left behind.
        granted(plain, bob.mutex(name));
        granted(plain, bob.mutex(new LockName(name + "2")));
    }

    @Test
    void renewalWithoutAcknowledgementHasAnUnknownEffect() {
        LockStore store = open("?replicas=1&replicaTimeout=200ms");
        Claim claim = grantedAndAcknowledged(store);
        servers.replicas().forEach(replica -> replica.signal("STOP"));
        assertThat(renewed(store, claim)).isInstanceOfSatisfying(Renewed.Failed.class, failed -> {
            assertThat(failed.cause().effect()).isEqualTo(Effect.UNKNOWN);
            assertThat(failed.cause()).hasMessageContaining("0 of 1 replicas");
        });
        // An older grant is not ended by a repeated request that is not acknowledged.
        assertThat(failure(store.tryAcquire(claim.again())).effect()).isEqualTo(Effect.UNKNOWN);
        servers.replicas().forEach(replica -> replica.signal("CONT"));
        assertThat(repaired(() -> renewed(store, claim))).isInstanceOf(Granted.class);
    }

    // The time for the acknowledgement is short, and a grant without one is released again.
    private Claim grantedAndAcknowledged(LockStore store) {
        return repaired(() -> {
            Claim claim = alice.mutex(name);
            granted(store, claim);
            return claim;
        });
    }

    @Test
    void pushedGrantCountsOnlyWhenAcknowledged() {
        LockStore store = open("?replicas=1&replicaTimeout=200ms&ticketTtl=1m");
        LockStore plain = open("");
        Claim holder = alice.mutex(name);
        granted(plain, holder);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        servers.replicas().forEach(replica -> replica.signal("STOP"));
        get(plain.release(holder));
        assertThat(renewed(store, waiter)).isInstanceOf(Renewed.Failed.class);
        assertThat(listener.outcome()).isEmpty();
        servers.replicas().forEach(replica -> replica.signal("CONT"));
        assertThat(repaired(() -> renewed(store, waiter))).isInstanceOf(Granted.class);
        awaitGrant(listener);

        // With replicas that answer, the push is enough.
        LockStore patient = open("?replicas=1&replicaTimeout=2s&ticketTtl=1m");
        RecordingListener next = waiting(patient, alice.mutex(name));
        get(plain.release(waiter));
        awaitGrant(next);
    }

    @Test
    void replacedPrimaryThatStillAnswersIsLeft() {
        // Nobody refreshes the ticket during the fail-over, and a release after its end would notify nobody.
        LockStore store = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener listener = waiting(store, bob.mutex(name));
        servers.awaitCopies();
        RedisServer old = servers.failOver(RedisServer::freeze);
        old.thaw();
        // For a moment the old server acts as the primary; the store has left it by then, or learns that it is a
        // replica.
        awaitUntil(() -> repaired(() -> renewed(store, holder)) instanceof Granted);
        assertThat(repaired(() -> get(store.release(holder.again()))).wasOwner())
                .isTrue();
        awaitUntil(() -> repaired(() -> get(store.renew(List.of()))).isEmpty()
                && listener.outcome().isPresent());
    }

    @Test
    void silentSentinelThatIsNamedFirstHidesNoOtherOne() {
        List<RedisServer> sentinels = servers.sentinels();
        RedisServer silent = sentinels.get(sentinels.size() - 1);
        silent.signal("STOP");
        LockStore store = repaired(() -> openUrl("redis-sentinel://127.0.0.1:" + silent.port() + ",127.0.0.1:"
                + sentinels.get(0).port() + "/" + RedisSentinels.NAME + "?timeout=500ms&ticketTtl=1m&replicas=1"));
        Claim holder = grantedAndAcknowledged(store);
        servers.awaitCopies();
        servers.failOver(RedisServer::kill);
        awaitUntil(() -> repaired(() -> renewed(store, holder)) instanceof Granted);
    }

    @Test
    void sentinelsThatWereSetUpAnewAreFollowed() {
        try (RedisSentinels others = RedisSentinels.start()) {
            LockStore store = openUrl(others.url() + "?ticketTtl=1m");
            others.failOver(RedisServer::kill);
            others.heal();
            Claim holder = alice.mutex(name);
            awaitUntil(() -> repaired(() -> get(store.tryAcquire(holder.again()))) instanceof Granted);
            others.awaitCopies();
            others.setUpAnew(others.replicas().get(0));
            awaitUntil(() -> repaired(() -> renewed(store, holder)) instanceof Granted);
        }
    }

    @Test
    void clientOfTheUsersIsUsedAndNotClosed() {
        Set<HostAndPort> sentinels = servers.sentinels().stream()
                .map(sentinel -> new HostAndPort("127.0.0.1", sentinel.port()))
                .collect(Collectors.toSet());
        try (RedisSentinelClient client = RedisSentinelClient.builder()
                .masterName(RedisSentinels.NAME)
                .sentinels(sentinels)
                .clientConfig(DefaultJedisClientConfig.builder().build())
                .build()) {
            // The ticket is not renewed during the fail-over, which may take longer than tickets usually live.
            // Also, the Sentinels choose by information about the replicas that is some time old, so each replica
            // must have the grant.
            LockStore store = RedisLockStore.over(client, "replicas=2&ticketTtl=1m");
            Claim holder = grantedAndAcknowledged(store);
            RecordingListener listener = waiting(store, bob.mutex(name));
            servers.awaitCopies();
            servers.failOver(RedisServer::kill);
            servers.heal();
            awaitUntil(() -> repaired(() -> renewed(store, holder)) instanceof Granted);
            get(store.release(holder));
            awaitGrant(listener);
            store.close();
            assertThat(client.get("anything")).isNull();
        }
    }

    @Test
    void wrongNamesAndDeadSentinelsAreReported() {
        assertThatThrownBy(() -> open("-x"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("knows no primary of the name \"locks-x\"");
        assertThatThrownBy(() ->
                        new RedisLockStoreProvider().open("redis-sentinel://127.0.0.1:1/locks", MonotonicClock.SYSTEM))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("No Sentinel")
                .hasMessageContaining("127.0.0.1:1");
    }

    private LockStore open(String options) {
        return openUrl(servers.url() + options);
    }

    private LockStore openUrl(String url) {
        LockStore store = new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
        opened.add(store);
        return store;
    }

    private Holdfast connect(String options) {
        Holdfast locks = Holdfast.connect(servers.url() + options);
        opened.add(locks);
        return locks;
    }
}
