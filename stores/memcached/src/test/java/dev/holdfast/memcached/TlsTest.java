package dev.holdfast.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.process.Certificates;
import dev.holdfast.testkit.process.MemcachedServer;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS with certificates on both sides: who is trusted, and who is not. */
class TlsTest extends WithServer {

    /** Asks each client for a certificate, and refuses one that has none. */
    private static final int VERIFY_CLIENTS = 2;

    @TempDir
    static Path folder;

    private static MemcachedServer server;

    @BeforeAll
    static void startWithACertificateForThisAddressOnly() {
        certificate("server", "IP:127.0.0.1");
        certificate("client", "DNS:client.example");
        certificate("stranger", "DNS:stranger.example");
        server = MemcachedServer.start(
                "-Z",
                "-o",
                "ssl_chain_cert=" + file("server.crt") + ",ssl_key=" + file("server.key") + ",ssl_ca_cert="
                        + file("client.crt") + ",ssl_verify_mode=" + VERIFY_CLIENTS);
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @Test
    void clientWithItsCertificateIsAccepted() {
        LockStore store = open(url("127.0.0.1", "server", "client"));
        granted(store, alice.mutex(name));
        assertThat(holders(store, name)).hasSize(1);
        assertThat(get(store.list("", 10))).containsExactly(name);
    }

    @Test
    void serverThatIsNotTrustedIsRefused() {
        refused(url("127.0.0.1", "stranger", "client"));
    }

    @Test
    void serverWithAnotherNameIsRefused() {
        refused(url("localhost", "server", "client"));
    }

    @Test
    void clientWithAnUnknownCertificateOrNoneIsRefused() {
        refused(url("127.0.0.1", "server", "stranger"));
        refused("memcacheds://127.0.0.1:" + server.port() + "?timeout=5s&ca=" + file("server.crt"));
    }

    @Test
    void missingFilesAreNamedInTheMessage() {
        assertThatThrownBy(() -> open("memcacheds://127.0.0.1:" + server.port() + "?ca=" + file("nothing.pem")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nothing.pem");
    }

    private void refused(String url) {
        assertThatThrownBy(() -> open(url)).isInstanceOf(StoreException.class);
    }

    private static String url(String host, String ca, String client) {
        return "memcacheds://" + host + ":" + server.port() + "?timeout=5s&ca=" + file(ca + ".crt") + "&cert="
                + file(client + ".crt") + "&key=" + file(client + ".key");
    }

    private static String file(String name) {
        return folder.resolve(name).toString();
    }

    private static void certificate(String name, String alternativeName) {
        Certificates.selfSigned(folder, name + ".crt", name + ".key", alternativeName);
    }
}
