package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.RecordingListener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tokens that a server signs (JWT). Such a token is refused as soon as any user or role is changed, and what was sent
 * with it must be sent again after a new log-in.
 */
class TokenTest extends WithServer {

    /**
     * The most watches that two waiters may need: two each, and the same again after the stream was refused. A stream
     * that keeps its token asks twenty times a second.
     */
    private static final int MOST_WATCHES = 12;

    @TempDir
    private static Path folder;

    private CountingClient client;

    @BeforeAll
    static void startTheServer() throws IOException, NoSuchAlgorithmException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(2_048);
        KeyPair keys = generator.generateKeyPair();
        Path ours = pem("PRIVATE", keys.getPrivate().getEncoded());
        Path theirs = pem("PUBLIC", keys.getPublic().getEncoded());
        server = EtcdServer.start(
                "--auth-token=jwt,pub-key=" + theirs + ",priv-key=" + ours + ",sign-method=RS256,ttl=10m");
        server.addUsers("secret");
        server.control("auth", "enable");
    }

    private static Path pem(String kind, byte[] key) throws IOException {
        String text = Base64.getMimeEncoder(64, "\n".getBytes()).encodeToString(key);
        return Files.writeString(
                folder.resolve(kind + ".pem"),
                "-----BEGIN " + kind + " KEY-----\n" + text + "\n-----END " + kind + " KEY-----\n");
    }

    private LockStore store() {
        EtcdUrl url = EtcdUrl.parse("etcd://app:secret@" + server.address() + "?session=20s");
        client = new CountingClient(EtcdChannels.open(url));
        return closing(EtcdLockStore.opened(client, url.options(), MonotonicClock.SYSTEM));
    }

    // It outdates all tokens that were signed before.
    private static void addAUser() {
        server.control("--user=root:secret", "user", "add", "u" + UUID.randomUUID() + ":secret");
    }

    @Test
    void holderAndClaimantsOutliveANewUser() {
        LockStore store = store();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        addAUser();
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        addAUser();
        granted(store, bob.mutex(new LockName(name + "-2")));
        addAUser();
        assertThat(released(store, holder)).isTrue();
    }

    @Test
    void watchWithAnOutdatedTokenIsMadeAgainWithANewOne() {
        LockStore store = store();
        LockStore other = store();
        Claim holder = alice.mutex(name);
        granted(other, holder);
        LockName second = new LockName(name + "-2");
        Claim holderOfSecond = alice.mutex(second);
        granted(other, holderOfSecond);
        LockStore waiters = store();
        RecordingListener early = waiting(waiters, bob.mutex(name));
        awaitUntil(() -> client.started.get() == 2);
        addAUser();
        RecordingListener late = waiting(waiters, bob.mutex(second));
        // The stream with the old token has ended: both waiters watch on another one.
        awaitUntil(() -> client.started.get() >= 6 || client.watches.get() > MOST_WATCHES);
        assertThat(client.watches.get()).isLessThanOrEqualTo(MOST_WATCHES);
        released(other, holder);
        awaitGrant(early);
        released(other, holderOfSecond);
        awaitGrant(late);
        assertThat(client.watches.get()).isLessThanOrEqualTo(MOST_WATCHES);
        assertThat(get(store.inspect(name))).isPresent();
    }
}
