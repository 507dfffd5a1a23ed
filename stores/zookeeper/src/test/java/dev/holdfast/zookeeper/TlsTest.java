package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.Certificates;
import dev.holdfast.testkit.process.Ports;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code tls=true} with a server that also requires a certificate of the client. */
class TlsTest {

    private static final String PASSWORD = "changeit";

    @TempDir
    static Path directory;

    private static ConfiguredServer server;
    /** The port for clients with certificates. */
    private static int port;

    @BeforeAll
    static void startTheServer() throws IOException, InterruptedException {
        keyStore("good");
        keyStore("bad");
        trust("good");
        port = Ports.reserve();
        server = new ConfiguredServer(
                directory,
                List.of(),
                List.of(
                        "secureClientPort=" + port,
                        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                        "ssl.keyStore.location=" + directory.resolve("good.p12"),
                        "ssl.keyStore.password=" + PASSWORD,
                        "ssl.trustStore.location=" + directory.resolve("trust.p12"),
                        "ssl.trustStore.password=" + PASSWORD));
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @Test
    void clientWithACertificateLocks() {
        // The first connection by TLS loads much code on both sides, and a busy machine may not be in time.
        try (LockStore store = StoreTest.repaired(() -> open("good"))) {
            LockName name = new LockName("tls");
            StoreTest.granted(store, new Claimant("alice", Duration.ofMinutes(1)).mutex(name));
            assertThat(StoreTest.holders(store, name)).hasSize(1);
        }
        assertThatThrownBy(() -> open("bad").close()).isInstanceOf(StoreException.class);
        assertThatThrownBy(() -> new ZooKeeperLockStoreProvider()
                        .open("zookeeper://127.0.0.1:" + port + "?timeout=1s", MonotonicClock.SYSTEM)
                        .close())
                .isInstanceOf(StoreException.class);
    }

    private static LockStore open(String keys) {
        String patience = keys.equals("good") ? "15s" : "2s";
        return new ZooKeeperLockStoreProvider()
                .open(
                        "zookeeper://127.0.0.1:" + port + "/tls?tls=true&timeout=" + patience + "&trustStore="
                                + directory.resolve("trust.p12") + "&trustStorePassword=" + PASSWORD + "&keyStore="
                                + directory.resolve(keys + ".p12") + "&keyStorePassword=" + PASSWORD,
                        MonotonicClock.SYSTEM);
    }

    private static void keyStore(String name) throws IOException, InterruptedException {
        Certificates.keytool(
                directory,
                "-genkeypair",
                "-alias",
                name,
                "-keyalg",
                "RSA",
                "-keysize",
                "2048",
                "-validity",
                "2",
                "-dname",
                "CN=127.0.0.1",
                "-ext",
                "SAN=IP:127.0.0.1,DNS:localhost",
                "-keystore",
                name + ".p12",
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD);
        Certificates.keytool(
                directory,
                "-exportcert",
                "-alias",
                name,
                "-keystore",
                name + ".p12",
                "-storepass",
                PASSWORD,
                "-file",
                name + ".cer");
    }

    private static void trust(String name) throws IOException, InterruptedException {
        Certificates.keytool(
                directory,
                "-importcert",
                "-noprompt",
                "-alias",
                name,
                "-file",
                name + ".cer",
                "-keystore",
                "trust.p12",
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD);
    }
}
