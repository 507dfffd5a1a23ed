package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.Certificate;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS, users and their rights, and an older server, through Lettuce. */
class LettuceConnectionTest extends StoreTest {

    @TempDir
    private Path folder;

    @AfterEach
    void distrust() {
        Certificate.distrust();
    }

    @Test
    void onlyTheAclUserIsServedOverTls() throws IOException, InterruptedException {
        Certificate certificate = Certificate.in(folder);
        try (RedisServer server = RedisServer.start(withUsers(certificate))) {
            String at = "@127.0.0.1:" + server.tlsPort();
            assertRefused("rediss+lettuce://app:secret" + at, true, "certif");
            certificate.trust();
            try (LockStore store = open("rediss+lettuce://app:secret" + at + "?ticketTtl=1m");
                    LockStore other = open("rediss+lettuce://app:secret" + at + "?ticketTtl=1m")) {
                handOver(store, other);
                String clients = server.ask(redis -> redis.clientList());
                assertThat(clients.lines().filter(line -> line.contains(" name=holdfast ")))
                        .isNotEmpty()
                        .allMatch(line -> line.contains(" laddr=127.0.0.1:" + server.tlsPort() + " "))
                        .allMatch(line -> line.contains(" user=app "));
            }
            assertRefused("rediss+lettuce://app:wrong" + at, false, "password is wrong");
            assertRefused("rediss+lettuce://none:secret" + at, false, "the user may not do this");
            assertRefused("rediss+lettuce://app:secret@localhost:" + server.tlsPort(), true, "localhost");
            try (LockStore mute = open("rediss+lettuce://mute:secret" + at)) {
                assertThat(get(mute.tryAcquire(alice.mutex(name)))).isInstanceOf(Granted.class);
                RecordingListener listener = new RecordingListener();
                mute.enqueue(bob.mutex(name), listener);
                awaitUntil(listener::wasNotified);
                StoreException refused = listener.first(RecordingListener.Event.Failed.class)
                        .orElseThrow()
                        .cause();
                assertThat(refused.retryable()).isFalse();
                assertThat(refused).hasMessageContaining("Cannot subscribe").hasMessageContaining("channels");
            }
        }
    }

    /** Redis 5 has no HELLO, and proxies may refuse it. */
    @Test
    void serverWithoutHelloServesLocks() {
        RedisServer without = closing(RedisServer.start("--rename-command", "HELLO", "", "--requirepass", "secret"));
        String at = "127.0.0.1:" + without.port();
        try (LockStore store = open("redis+lettuce://:secret@" + at + "?ticketTtl=1m");
                LockStore other = open("redis+lettuce://:secret@" + at + "?ticketTtl=1m")) {
            handOver(store, other);
        }
        RedisClient client = RedisClient.create();
        try (LockStore store = LettuceRedis.over(client, RedisURI.create("redis://:secret@" + at), "")) {
            assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Granted.class);
        } finally {
            client.shutdown();
        }
    }

    @Test
    void passwordIsAskedFor() {
        try (RedisServer server = RedisServer.start()) {
            String url = LettuceUrl.of(server.url());
            try (LockStore store = open(url)) {
                server.ask(redis -> redis.configSet("requirepass", "secret"));
                assertRefused(url, false, "asks for a password");
                assertRefused(url.replace("//", "//:wrong@"), false, "password is wrong");
                // Connections that were authenticated before are not asked again.
                assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Granted.class);
            }
        }
    }

    @Test
    void redis62IsServedButItsClustersAreNot() {
        try (RedisServer server = RedisServer.startOld();
                LockStore store = open(LettuceUrl.of(server.url()) + "?ticketTtl=1m");
                LockStore other = open(LettuceUrl.of(server.url()) + "?ticketTtl=1m")) {
            handOver(store, other);
        }
        try (RedisServer node = RedisServer.startOld("--cluster-enabled", "yes")) {
            node.ask(redis -> redis.clusterAddSlots(IntStream.range(0, 16_384).toArray()));
            awaitUntil(() -> node.ask(redis -> redis.clusterInfo()).contains("cluster_state:ok"));
            try (LockStore store = open(LettuceUrl.of(node.url()) + "?cluster=true")) {
                assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Granted.class);
                RecordingListener listener = new RecordingListener();
                store.enqueue(bob.mutex(name), listener);
                awaitUntil(listener::wasNotified);
                StoreException refused = listener.first(RecordingListener.Event.Failed.class)
                        .orElseThrow()
                        .cause();
                assertThat(refused.effect()).isEqualTo(Effect.NONE);
                assertThat(refused.retryable()).isFalse();
                assertThat(refused).hasMessageContaining("Redis 7");
            }
        }
    }

    private void handOver(LockStore store, LockStore other) {
        Claim holder = alice.mutex(name);
        assertThat(get(store.tryAcquire(holder))).isInstanceOf(Granted.class);
        assertThat(get(store.renew(List.of(holder))).get(0)).isInstanceOf(Granted.class);
        RecordingListener listener = new RecordingListener();
        Claim waiter = bob.mutex(name);
        other.enqueue(waiter, listener);
        awaitUntil(listener::wasNotified);
        assertThat(get(store.release(holder)).wasOwner()).isTrue();
        // No renewal is sent here, so only the push can have reported the grant.
        awaitUntil(() -> listener.outcome().isPresent());
        assertThat(listener.outcome()).get().isInstanceOf(RecordingListener.Event.Granted.class);
        assertThat(get(other.release(waiter)).wasOwner()).isTrue();
    }

    // "app" has the rights that the documentation names.
    private static String[] withUsers(Certificate certificate) {
        List<String> settings = new ArrayList<>(certificate.settings());
        String rights =
                "-@all +@connection +@scripting +@pubsub +@hash +@sortedset +time +del +pexpire +pttl +persist +scan";
        settings.addAll(List.of(("--user app on >secret ~holdfast:* &holdfast:* " + rights).split(" ")));
        settings.addAll(List.of("--user mute on >secret ~holdfast:* resetchannels +@all".split(" ")));
        settings.addAll(List.of("--user none on >secret ~other:* &* +@all".split(" ")));
        return settings.toArray(new String[0]);
    }

    private static LockStore open(String url) {
        return new LettuceLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }

    private static void assertRefused(String url, boolean retryable, String why) {
        assertThatThrownBy(() -> open(url).close())
                .isInstanceOfSatisfying(StoreException.class, failure -> {
                    assertThat(failure.effect()).isEqualTo(Effect.NONE);
                    assertThat(failure.retryable()).isEqualTo(retryable);
                })
                .hasMessageContaining(why);
    }
}
