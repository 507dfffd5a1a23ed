package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code rediss://}: what the JVM trusts is trusted, and only for the host that the certificate names. */
class TlsTest {

    private static final String STORE = "javax.net.ssl.trustStore";
    private static final String PASSWORD = "javax.net.ssl.trustStorePassword";

    @TempDir
    static Path folder;

    private static RedisServer server;
    private static int port;

    @BeforeAll
    static void startWithACertificateForThisAddressOnly() throws IOException, InterruptedException {
        run(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-keyout",
                "key.pem",
                "-out",
                "cert.pem",
                "-subj",
                "/CN=test",
                "-addext",
                "subjectAltName=IP:127.0.0.1");
        run(
                "keytool",
                "-importcert",
                "-noprompt",
                "-alias",
                "test",
                "-file",
                "cert.pem",
                "-keystore",
                "trust.p12",
                "-storepass",
                "changeit");
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        server = RedisServer.start(
                "--tls-port",
                Integer.toString(port),
                "--tls-cert-file",
                folder.resolve("cert.pem").toString(),
                "--tls-key-file",
                folder.resolve("key.pem").toString(),
                "--tls-ca-cert-file",
                folder.resolve("cert.pem").toString(),
                "--tls-auth-clients",
                "no");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void trustedCertificateIsTakenForItsHostOnly() {
        assertThatThrownBy(() -> open("127.0.0.1"))
                .as("not trusted yet")
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("TLS");
        System.setProperty(STORE, folder.resolve("trust.p12").toString());
        System.setProperty(PASSWORD, "changeit");
        try {
            try (LockStore store = open("127.0.0.1")) {
                Attempt attempt = store.tryAcquire(
                                new Claimant("alice", Duration.ofMinutes(1)).mutex(new LockName("a")))
                        .toCompletableFuture()
                        .join();
                assertThat(attempt).isInstanceOf(Attempt.Granted.class);
            }
            assertThatThrownBy(() -> open("localhost"))
                    .as("the certificate names the address, not localhost")
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("localhost");
        } finally {
            System.clearProperty(STORE);
            System.clearProperty(PASSWORD);
        }
    }

    private static LockStore open(String host) {
        return new RedisLockStoreProvider().open("rediss://" + host + ":" + port, MonotonicClock.SYSTEM);
    }

    private static void run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(output).isZero();
    }
}
