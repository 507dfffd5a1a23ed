package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.redis.RedisSentinels;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Lettuce with Sentinels: what a fail-over does to locks that are held and waited for. */
class LettuceSentinelTest extends StoreTest {

    private static final String OPTIONS = "?ticketTtl=3s";

    /** Longer than a fail-over takes on a busy machine. */
    private static final Duration LEASE = Duration.ofSeconds(40);

    private final RedisSentinels servers = RedisSentinels.start();
    private final String url = LettuceUrl.of(servers.url());

    @AfterEach
    void end() {
        servers.sentinels().forEach(sentinel -> sentinel.signal("CONT"));
        servers.close();
    }

    @Test
    void urlsAndClientsOfTheUsersLeadToThePrimary() {
        RedisClient client = RedisClient.create();
        try (LockStore store = open("?ticketTtl=1m");
                LockStore other = LettuceRedis.over(client, uri(), "ticketTtl=1m")) {
            Claim holder = alice.mutex(name);
            assertThat(get(store.tryAcquire(holder))).isInstanceOf(Granted.class);
            RecordingListener listener = waiting(other, bob.mutex(name));
            assertThat(get(store.renew(List.of(holder))).get(0)).isInstanceOf(Granted.class);
            get(store.release(holder));
            awaitGrant(listener);
            Claim back = alice.mutex(name);
            RecordingListener returned = waiting(store, back);
            get(other.release(
                    get(store.inspect(name)).orElseThrow().holders().get(0).claim()));
            awaitGrant(returned);
        } finally {
            client.shutdown();
        }
        assertThatThrownBy(() -> new LettuceLockStoreProvider().open(url + "-x", MonotonicClock.SYSTEM))
                .isInstanceOf(StoreException.class);
    }

    @Test
    void heldLockSurvivesAFailOverAndItsWaiterGetsOn() throws Exception {
        try (Holdfast holder = Holdfast.connect(url + OPTIONS);
                Holdfast other = Holdfast.connect(url + OPTIONS)) {
            LockOptions options = LockOptions.defaults().withLease(LEASE).withStoreTimeout(Duration.ofSeconds(60));
            Lease lease = holder.lock(name.value(), options).acquire();
            CompletableFuture<Lease> next = other.lock(name.value(), options).acquireAsync();
            awaitUntil(() -> !holder.state(name.value()).orElseThrow().waiters().isEmpty());
            servers.awaitCopies();
            servers.failOver(RedisServer::kill);
            Duration before = lease.remaining();
            awaitUntil(() -> lease.remaining().compareTo(before) > 0);
            assertThat(lease.isValid()).isTrue();
            assertThat(next).isNotDone();
            lease.close();
            try (Lease second = next.get(20, TimeUnit.SECONDS)) {
                assertThat(second.token()).isGreaterThan(lease.token());
            }
        }
    }

    @Test
    void frozenPrimaryIsLeftForItsSuccessor() throws Exception {
        try (Holdfast holder = Holdfast.connect(url + OPTIONS);
                Holdfast other = Holdfast.connect(url + OPTIONS)) {
            LockOptions options = LockOptions.defaults().withLease(LEASE).withStoreTimeout(Duration.ofSeconds(60));
            Lease lease = holder.lock(name.value(), options).acquire();
            lease.extend(LEASE);
            CompletableFuture<Lease> next = other.lock(name.value(), options).acquireAsync();
            awaitUntil(() -> !holder.state(name.value()).orElseThrow().waiters().isEmpty());
            servers.awaitCopies();
            // It keeps its connections but sends nothing, like a machine that lost its power.
            servers.failOver(RedisServer::freeze);
            Duration before = lease.remaining();
            awaitUntil(() -> lease.remaining().compareTo(before) > 0);
            assertThat(lease.isValid()).isTrue();
            lease.close();
            next.get(20, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void grantThatTheNewPrimaryHasNotReceivedIsLostWithAReason() throws Exception {
        try (Holdfast holder = Holdfast.connect(url + OPTIONS);
                Holdfast other = Holdfast.connect(url + OPTIONS)) {
            LockOptions options =
                    LockOptions.defaults().withLease(Duration.ofSeconds(9)).withStoreTimeout(Duration.ofSeconds(60));
            holder.lock(name + "-warm").acquire().close();
            other.lock(name + "-warm").acquire().close();
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
    }

    @Test
    void silentSentinelThatIsNamedFirstHidesNoOtherOne() {
        List<RedisServer> sentinels = servers.sentinels();
        RedisServer silent = sentinels.get(sentinels.size() - 1);
        silent.signal("STOP");
        String both = "redis-sentinel://127.0.0.1:" + silent.port() + ",127.0.0.1:"
                + sentinels.get(0).port() + "/" + RedisSentinels.NAME;
        try (LockStore store = repaired(() -> new LettuceLockStoreProvider()
                .open(LettuceUrl.of(both) + "?timeout=500ms&ticketTtl=1m", MonotonicClock.SYSTEM))) {
            Claim holder = alice.mutex(name);
            repaired(() -> granted(store, holder.again()));
            servers.awaitCopies();
            servers.failOver(RedisServer::kill);
            awaitUntil(() -> repaired(() -> renewed(store, holder)) instanceof Granted);
        }
    }

    private RedisURI uri() {
        RedisURI.Builder builder =
                RedisURI.builder().withSentinelMasterId(RedisSentinels.NAME).withTimeout(Duration.ofSeconds(1));
        servers.sentinels().forEach(sentinel -> builder.withSentinel("127.0.0.1", sentinel.port()));
        return builder.build();
    }

    private LockStore open(String options) {
        return new LettuceLockStoreProvider().open(url + options, MonotonicClock.SYSTEM);
    }
}
