package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** TLS and passwords with Sentinels and on a cluster, whichever client a store has. */
public abstract class TlsTopologyLaws extends StoreTest {

    private static final String SECRET = "secret";
    private static final String SENTINELS_SECRET = "other-secret";

    @TempDir
    static Path folder;

    private static Certificate certificate;
    private static RedisSentinels sentinels;
    private static RedisCluster cluster;

    @BeforeAll
    static void startAll() throws IOException, InterruptedException {
        certificate = Certificate.in(folder);
        List<String> settings = new ArrayList<>(certificate.settings());
        settings.addAll(List.of("--tls-replication", "yes"));
        sentinels = RedisSentinels.start(settings, SECRET, SENTINELS_SECRET);
        settings.addAll(List.of("--tls-cluster", "yes", "--requirepass", SECRET, "--masterauth", SECRET));
        cluster = RedisCluster.start(settings.toArray(new String[0]));
    }

    @AfterAll
    static void stopAll() {
        sentinels.close();
        cluster.close();
    }

    /**
     * Opens a store.
     *
     * @param url the URL in the form for Jedis
     */
    protected abstract LockStore open(String url);

    /** Whether a store keeps connections to Sentinels, in addition to those that it opens to ask for the primary. */
    protected abstract boolean staysWithSentinels();

    private LockStore connected(String url) {
        return closing(open(url));
    }

    @AfterEach
    void distrust() {
        Certificate.distrust();
    }

    @Test
    void sentinelsLeadToThePrimaryOverTlsAlsoAfterAFailOver() {
        certificate.trust();
        String url = sentinels.tlsUrl(SECRET, SENTINELS_SECRET) + "&ticketTtl=1m";
        LockStore store = connected(url);
        Claim holder = worksOn(store, connected(url));
        assertOverTls(sentinels.servers());
        if (staysWithSentinels()) {
            assertOverTls(sentinels.sentinels());
        }
        sentinels.awaitCopies();
        sentinels.failOver(RedisServer::kill);
        assertThat(repaired(() -> renewed(store, holder))).isInstanceOf(Granted.class);
        repaired(() -> get(store.release(holder.again())));
        assertOverTls(
                sentinels.servers().stream().filter(RedisServer::isRunning).toList());
    }

    @Test
    void clusterIsServedOverTls() {
        certificate.trust();
        LockStore store = connected(cluster.tlsUrl(SECRET) + "?ticketTtl=1m");
        LockStore other = connected(cluster.tlsUrl(SECRET) + "?ticketTtl=1m");
        for (int i = 0; i < 6; i++) {
            Claim claim = alice.mutex(new LockName(name + "-" + i));
            granted(store, claim);
            assertThat(renewed(store, claim)).isInstanceOf(Granted.class);
        }
        get(store.release(worksOn(store, other)));
        assertOverTls(cluster.servers());
    }

    @Test
    void wrongPasswordsAreRefused() {
        certificate.trust();
        for (String url : List.of(sentinels.tlsUrl("wrong", SENTINELS_SECRET), cluster.tlsUrl("wrong"))) {
            assertThatThrownBy(() -> connected(url))
                    .isInstanceOfSatisfying(StoreException.class, failure -> {
                        assertThat(failure.effect()).isEqualTo(Effect.NONE);
                        assertThat(failure.retryable()).isFalse();
                    })
                    .hasMessageContaining("password is wrong");
        }
        assertThatThrownBy(() -> connected(cluster.tlsUrl(SECRET).replace(":" + SECRET + "@", "")))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.retryable()).isFalse())
                .hasMessageContaining("asks for a password");
        assertThatThrownBy(() -> connected(sentinels.tlsUrl(SECRET, "wrong")))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.effect()).isEqualTo(Effect.NONE))
                .hasMessageContaining("No Sentinel")
                .hasMessageContaining("WRONGPASS");
    }

    @Test
    void untrustedCertificatesAreRefused() {
        for (String url : List.of(sentinels.tlsUrl(SECRET, SENTINELS_SECRET), cluster.tlsUrl(SECRET))) {
            assertThatThrownBy(() -> connected(url))
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
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = waiting(other, waiter);
        get(store.release(holder));
        // No renewal is sent here, so only the push can have reported the grant.
        awaitGrant(listener);
        assertThat(renewed(other, waiter)).isInstanceOf(Granted.class);
        return waiter;
    }

    // Checks that no request for a lock used the port without TLS.
    private static void assertOverTls(List<RedisServer> servers) {
        int found = 0;
        for (RedisServer server : servers) {
            for (String line : server.ask(Jedis::clientList).lines().toList()) {
                if (line.contains(" name=holdfast ")) {
                    assertThat(line).contains(" laddr=127.0.0.1:" + server.tlsPort() + " ");
                    found++;
                }
            }
        }
        assertThat(found).isPositive();
    }
}
