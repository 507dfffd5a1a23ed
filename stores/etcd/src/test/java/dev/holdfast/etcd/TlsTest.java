package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.process.Certificates;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code etcds://}: the server's certificate is checked, and the client shows one. */
class TlsTest extends WithServer {

    @TempDir
    static Path folder;

    @BeforeAll
    static void startWithACertificateForThisAddressOnly() {
        certificate("server", "IP:127.0.0.1");
        certificate("client", "DNS:client.example");
        certificate("stranger", "DNS:stranger.example");
        server = EtcdServer.startTls(
                List.of(
                        "--cert-file=" + file("server.crt"),
                        "--key-file=" + file("server.key"),
                        "--trusted-ca-file=" + file("client.crt"),
                        "--client-cert-auth"),
                List.of(
                        "--cacert=" + file("server.crt"),
                        "--cert=" + file("client.crt"),
                        "--key=" + file("client.key")));
    }

    @Test
    void clientWithItsCertificateIsAccepted() {
        LockStore store = openUrl(url("127.0.0.1", "server", "client"));
        granted(store, alice.mutex(name));
        assertThat(get(store.inspect(name))).isPresent();
    }

    @Test
    void serverThatIsNotTrustedIsRefused() {
        assertThatThrownBy(() -> openUrl(url("127.0.0.1", "stranger", "client")))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("TLS");
    }

    @Test
    void serverWithAnotherNameIsRefused() {
        assertThatThrownBy(() -> openUrl(url("localhost", "server", "client")))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("TLS");
    }

    @Test
    void clientWithAnUnknownCertificateOrNoneIsRefused() {
        assertThatThrownBy(() -> openUrl(url("127.0.0.1", "server", "stranger")))
                .isInstanceOf(StoreException.class);
        assertThatThrownBy(() -> openUrl("etcds://" + server.address() + "?ca=" + file("server.crt")))
                .isInstanceOf(StoreException.class);
    }

    @Test
    void missingFilesAreNamedInTheMessage() {
        assertThatThrownBy(() -> openUrl("etcds://" + server.address() + "?ca=" + file("nothing.pem")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nothing.pem");
    }

    private String url(String host, String ca, String client) {
        return "etcds://" + host + ":" + server.port() + "?timeout=8s&ca=" + file(ca + ".crt") + "&cert="
                + file(client + ".crt") + "&key=" + file(client + ".key");
    }

    private static String file(String name) {
        return folder.resolve(name).toString();
    }

    private static void certificate(String name, String alternativeName) {
        Certificates.selfSigned(folder, name + ".crt", name + ".key", alternativeName);
    }
}
