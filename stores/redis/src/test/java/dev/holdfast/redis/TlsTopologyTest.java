package dev.holdfast.redis;

import static dev.holdfast.testkit.StoreTest.awaitGrant;
import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static dev.holdfast.testkit.StoreTest.get;
import static dev.holdfast.testkit.StoreTest.granted;
import static dev.holdfast.testkit.StoreTest.renewed;
import static dev.holdfast.testkit.StoreTest.waiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** TLS and passwords with Sentinels and on a cluster. */
@Timeout(120)
class TlsTopologyTest {

    private static final String SECRET = "secret";
    private static final String SENTINELS_SECRET = "other-secret";

    @TempDir
    static Path folder;

    private static Certificate certificate;
    private static RedisSentinels sentinels;
    private static RedisCluster cluster;

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(10));
    private final Claimant bob = new Claimant("bob", Duration.ofMinutes(10));
    private final LockName name = new LockName("test-" + UUID.randomUUID());
    private final List<LockStore> opened = new ArrayList<>();

    @BeforeAll
    static void startAll() throws IOException, InterruptedException {
        certificate = Certificate.in(folder);
        List<String> settings = new ArrayList<>(certificate.settings());
        settings.addAll(List.of("--tls-replication", "yes"));
        sentinels = RedisSentinels.start(Duration.ofSeconds(2), settings, SECRET, SENTINELS_SECRET);
        settings.addAll(List.of("--tls-cluster", "yes", "--requirepass", SECRET, "--masterauth", SECRET));
        cluster = RedisCluster.start(settings.toArray(new String[0]));
    }

    @AfterAll
    static void stopAll() {
        sentinels.close();
        cluster.close();
    }

    @AfterEach
    void end() {
        opened.forEach(LockStore::close);
        Certificate.distrust();
    }

    @Test
    void sentinelsLeadToThePrimaryOverTlsAlsoAfterAFailOver() {
        certificate.trust();
        String url = sentinels.tlsUrl(SECRET, SENTINELS_SECRET) + "&ticketTtl=1m&timeout=500ms";
        LockStore store = open(url);
        Claim holder = worksOn(store, open(url));
        assertOverTls(sentinels.servers());
        assertOverTls(sentinels.sentinels());
        sentinels.awaitReplicas();
        RedisServer old = sentinels.named();
        awaitUntil(() -> replicasHaveAllOf(old));
        old.kill();
        awaitUntil(() -> sentinels.named() != old);
        awaitUntil(() -> isHeld(store, holder));
        get(store.release(holder));
    }

    @Test
    void clusterIsServedOverTls() {
        certificate.trust();
        LockStore store = open(cluster.tlsUrl(SECRET) + "?ticketTtl=1m");
        LockStore other = open(cluster.tlsUrl(SECRET) + "?ticketTtl=1m");
        for (int i = 0; i < 6; i++) {
            Claim claim = alice.mutex(new LockName(name + "-" + i));
            granted(store, claim);
            assertThat(renewed(store, claim)).isInstanceOf(Renewed.Held.class);
        }
        get(store.release(worksOn(store, other)));
        assertOverTls(cluster.servers());
    }

    @Test
    void wrongPasswordsAreRefused() {
        certificate.trust();
        for (String url : List.of(sentinels.tlsUrl("wrong", SENTINELS_SECRET), cluster.tlsUrl("wrong"))) {
            assertThatThrownBy(() -> open(url))
                    .isInstanceOfSatisfying(StoreException.class, failure -> {
                        assertThat(failure.effect()).isEqualTo(Effect.NONE);
                        assertThat(failure.retryable()).isFalse();
                    })
                    .hasMessageContaining("password is wrong");
        }
        assertThatThrownBy(() -> open(cluster.tlsUrl(SECRET).replace(":" + SECRET + "@", "")))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.retryable()).isFalse())
                .hasMessageContaining("asks for a password");
        assertThatThrownBy(() -> open(sentinels.tlsUrl(SECRET, "wrong")))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.effect()).isEqualTo(Effect.NONE))
                .hasMessageContaining("No Sentinel")
                .hasMessageContaining("WRONGPASS");
    }

    @Test
    void certificatesThatNobodyTrustsAreRefused() {
        for (String url : List.of(sentinels.tlsUrl(SECRET, SENTINELS_SECRET), cluster.tlsUrl(SECRET))) {
            assertThatThrownBy(() -> open(url))
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            failure -> assertThat(failure.effect()).isEqualTo(Effect.NONE))
                    .hasMessageContaining("certif");
        }
    }

    // Returns a claim that holds.
    private Claim worksOn(LockStore store, LockStore other) {
        Claim holder = alice.mutex(name);
        granted(store, holder);
        assertThat(renewed(store, holder)).isInstanceOf(Renewed.Held.class);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(other, waiter);
        get(store.release(holder));
        // Nobody renews here, so only the push can have told it.
        awaitGrant(listener);
        assertThat(renewed(other, waiter)).isInstanceOf(Renewed.Held.class);
        return waiter;
    }

    // Nobody's lock went over the port without TLS.
    private static void assertOverTls(List<RedisServer> servers) {
        int found = 0;
        for (RedisServer server : servers) {
            try (Jedis jedis = server.connect()) {
                for (String line : jedis.clientList().lines().toList()) {
                    if (line.contains(" name=holdfast ")) {
                        assertThat(line).contains(" laddr=127.0.0.1:" + server.tlsPort() + " ");
                        found++;
                    }
                }
            }
        }
        assertThat(found).isPositive();
    }

    private static boolean replicasHaveAllOf(RedisServer primary) {
        try (Jedis jedis = primary.connect()) {
            String state = jedis.info("replication");
            String offset = state.replaceAll("(?s).*master_repl_offset:(\\d+).*", "$1");
            return Arrays.stream(state.split("\r?\n"))
                            .filter(line -> line.startsWith("slave") && line.contains("offset=" + offset + ","))
                            .count()
                    == 2;
        }
    }

    // As the engine does: repeats what failed, whatever its effect.
    private static boolean isHeld(LockStore store, Claim claim) {
        try {
            Renewed answer = renewed(store, claim);
            if (answer instanceof Renewed.Failed failed) {
                throw failed.cause();
            }
            assertThat(answer).isInstanceOf(Renewed.Held.class);
            return true;
        } catch (StoreException failure) {
            assertThat(failure.retryable()).as(failure.getMessage()).isTrue();
            return false;
        }
    }

    private LockStore open(String url) {
        LockStore store = new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
        opened.add(store);
        return store;
    }
}
