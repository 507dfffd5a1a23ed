package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.zookeeper.config.ZooKeeperOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.URIParameter;
import java.time.Duration;
import java.util.List;
import javax.security.auth.login.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code sasl=SECTION} with a server that requires a login by SASL (DIGEST-MD5) from all clients. */
class SaslTest {

    private static final String MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule required ";

    @TempDir
    static Path directory;

    private static Configuration before;
    private static ConfiguredServer server;

    private final Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
    private final Claimant bob = new Claimant("bob", Duration.ofMinutes(1));

    @BeforeAll
    static void startTheServer() throws IOException, GeneralSecurityException {
        Path clients = Files.writeString(
                directory.resolve("clients.jaas"),
                client("Alice", "alice", "secret")
                        + client("Bob", "bob", "other")
                        + client("Wrong", "alice", "guessed")
                        + client("Nobody", "mallory", "secret"));
        before = ofThisJvm();
        Configuration.setConfiguration(Configuration.getInstance("JavaLoginConfig", new URIParameter(clients.toUri())));
        Path users = Files.writeString(
                directory.resolve("server.jaas"),
                "Server { " + MODULE + "user_alice=\"secret\" user_bob=\"other\"; };\n");
        server = new ConfiguredServer(
                directory,
                List.of("-Djava.security.auth.login.config=" + users),
                List.of(
                        "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
                        "enforce.auth.enabled=true",
                        "enforce.auth.schemes=sasl"));
    }

    private static String client(String section, String user, String password) {
        return section + " { " + MODULE + "username=\"" + user + "\" password=\"" + password + "\"; };\n";
    }

    private static Configuration ofThisJvm() {
        try {
            return Configuration.getConfiguration();
        } catch (SecurityException none) {
            return null;
        }
    }

    @AfterAll
    static void stopTheServer() {
        Configuration.setConfiguration(before);
        server.close();
    }

    @Test
    void clientsThatAreLoggedInLockAndWait() {
        LockName name = new LockName("sasl");
        try (LockStore one = open("/both?acl=open&", "Alice");
                LockStore two = open("/both?acl=open&", "Bob")) {
            Claim claim = alice.mutex(name);
            StoreTest.granted(one, claim);
            RecordingListener next = StoreTest.waiting(two, bob.mutex(name));
            assertThat(StoreTest.released(one, claim)).isTrue();
            StoreTest.awaitGrant(next);
        }
    }

    @Test
    void nodesBelongToTheUserWhoCreatedThem() throws Exception {
        LockName name = new LockName("own");
        List<Claim> several = List.of(alice.mutex(new LockName("own-1")), alice.mutex(new LockName("own-2")));
        try (LockStore store = open("/own?", "Alice");
                CuratorFramework observer = curator("Alice");
                CuratorFramework stranger = curator("Bob")) {
            StoreTest.granted(store, alice.mutex(name));
            StoreTest.get(store.tryAcquireAll(several));
            for (String lock : List.of("own", "own-1", "own-2")) {
                String path = "/own/" + lock;
                String node = path + "/" + observer.getChildren().forPath(path).get(0);
                for (String made : List.of("/own", path, node)) {
                    assertThat(observer.getACL().forPath(made))
                            .singleElement()
                            .extracting(ACL::getId)
                            .isEqualTo(new Id("sasl", "alice"));
                }
                assertThatThrownBy(() -> stranger.getChildren().forPath(path))
                        .isInstanceOf(KeeperException.NoAuthException.class);
            }
            try (LockStore bobs = open("/own?", "Bob")) {
                StoreException refusal = StoreTest.failure(bobs.tryAcquire(bob.mutex(name)));
                assertThat(refusal).hasMessageContaining("rights");
                assertThat(refusal.effect()).isEqualTo(Effect.NONE);
            }
        }
    }

    @Test
    void wrongLoginIsRefusedAtOnceAndHasNoEffect() {
        for (String section : List.of("Wrong", "Nobody")) {
            long start = System.nanoTime();
            assertThatThrownBy(() -> open("/wrong?", section).close())
                    .as(section)
                    .isInstanceOfSatisfying(StoreException.class, refusal -> {
                        assertThat(refusal.effect()).isEqualTo(Effect.NONE);
                        assertThat(refusal.retryable()).isFalse();
                    })
                    .hasMessageContaining("refused the login")
                    .hasMessageNotContainingAny("guessed", "secret");
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as("it does not wait for its time-out of 20 s")
                    .isLessThan(Duration.ofSeconds(15));
        }
    }

    @Test
    void clientWithoutALoginIsRefused() {
        assertThatThrownBy(() -> new ZooKeeperLockStoreProvider()
                        .open("zookeeper://127.0.0.1:" + server.port() + "?timeout=2s", MonotonicClock.SYSTEM)
                        .close())
                .isInstanceOf(StoreException.class);
    }

    @Test
    void sectionThatIsMissingIsNamedBeforeAnythingIsSent() {
        assertThatThrownBy(() -> open("/missing?", "Elsewhere"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("sasl", "\"Elsewhere\"", "java.security.auth.login.config");
    }

    private static LockStore open(String rootAndOptions, String section) {
        return new ZooKeeperLockStoreProvider()
                .open(
                        "zookeeper://127.0.0.1:" + server.port() + rootAndOptions + "timeout=20s&sasl=" + section,
                        MonotonicClock.SYSTEM);
    }

    private static CuratorFramework curator(String section) {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString("127.0.0.1:" + server.port())
                .sessionTimeoutMs(10_000)
                .connectionTimeoutMs(10_000)
                .retryPolicy(new RetryOneTime(100))
                .ensembleTracker(false)
                .zkClientConfig(ZooKeeperOptions.ofUrl("sasl=" + section).clientConfig())
                .build();
        client.start();
        return client;
    }
}
