package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code rediss://}: a certificate is accepted if the JVM trusts it, and only for the host that it names. */
class TlsTest {

    @TempDir
    static Path folder;

    private static Certificate certificate;
    private static RedisServer server;

    @BeforeAll
    static void startWithACertificateForThisAddressOnly() throws IOException, InterruptedException {
        certificate = Certificate.in(folder);
        server = RedisServer.start(certificate.settings().toArray(new String[0]));
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
        certificate.trust();
        try {
            try (LockStore store = open("127.0.0.1")) {
                Attempt attempt = store.tryAcquire(
                                new Claimant("alice", Duration.ofMinutes(1)).mutex(new LockName("a")))
                        .toCompletableFuture()
                        .join();
                assertThat(attempt).isInstanceOf(Granted.class);
            }
            assertThatThrownBy(() -> open("localhost"))
                    .as("the certificate names the address, not localhost")
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("localhost");
        } finally {
            Certificate.distrust();
        }
    }

    private static LockStore open(String host) {
        return new RedisLockStoreProvider().open("rediss://" + host + ":" + server.tlsPort(), MonotonicClock.SYSTEM);
    }
}
