package dev.holdfast.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.process.MemcachedServer;
import dev.holdfast.testkit.process.ServerProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Servers that want a user and a password, by the text protocol and by SASL. */
class LoginTest extends WithServer {

    private static final String PASSWORD = "s3cret/@:";
    private static final String ENCODED = "s3cret%2F%40%3A";
    private static final Path SASL_PASSWORD = Path.of("/usr/sbin/saslpasswd2");

    @Test
    void textLogin() throws IOException {
        MemcachedServer server = closing(MemcachedServer.prepare("-Y", "logins"));
        Path logins = server.folder().resolve("logins");
        Files.writeString(logins, "me:" + PASSWORD + "\n");
        allMayRead(List.of(server.folder(), logins));
        server.startAgain();
        locksWork(server, "");
        LockStore store = open(url(server, ENCODED, ""));
        granted(store, alice.mutex(name));
        hidesPassword(store, "s3cret");
        assertThat(get(store.list("", 10))).containsExactly(name);
        wrongLoginsAreRefused(server, "");
        assertThatThrownBy(() -> open(server.url())).isInstanceOf(StoreException.class);
    }

    @Test
    void sasl() throws IOException, InterruptedException {
        MemcachedServer server = serverWithSasl();
        locksWork(server, "?login=sasl");
        LockStore store = open(url(server, ENCODED, "?login=sasl"));
        assertThat(failure(store.list("", 10))).hasMessageContaining("login=sasl");
        wrongLoginsAreRefused(server, "?login=sasl");
    }

    /** In the binary protocol a value that the server has no room for removes the one that it would have replaced. */
    @Test
    void saslToAServerThatMayDropARecordIsRefused() throws IOException, InterruptedException {
        MemcachedServer full = serverWithSasl("-M");
        assertThatThrownBy(() -> open(url(full, ENCODED, "?login=sasl")))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("-M");
        MemcachedServer small = serverWithSasl("-I", "512k");
        assertThatThrownBy(() -> open(url(small, ENCODED, "?login=sasl")))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("-I");
    }

    private MemcachedServer serverWithSasl(String... settings) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of("-S"));
        all.addAll(List.of(settings));
        MemcachedServer server = closing(MemcachedServer.prepare(all.toArray(new String[0])));
        ServerProcess.require(SASL_PASSWORD, "sasl2-bin");
        Path logins = server.folder().resolve("sasldb2");
        Files.writeString(server.folder().resolve("memcached.conf"), "mech_list: plain\nsasldb_path: " + logins + "\n");
        Process process = new ProcessBuilder(
                        SASL_PASSWORD.toString(), "-p", "-c", "-a", "memcached", "-f", logins.toString(), "me")
                .start();
        process.getOutputStream().write(PASSWORD.getBytes(StandardCharsets.US_ASCII));
        process.getOutputStream().close();
        assertThat(process.waitFor()).isZero();
        allMayRead(List.of(server.folder(), logins));
        server.startAgain();
        return server;
    }

    // The server gives up the rights of root before it reads them.
    private static void allMayRead(List<Path> files) {
        for (Path file : files) {
            assertThat(file.toFile().setReadable(true, false)).isTrue();
            assertThat(file.toFile().setExecutable(true, false)).isTrue();
        }
    }

    private void locksWork(MemcachedServer server, String options) {
        LockStore store = open(url(server, ENCODED, options));
        Claim writer = alice.write(name);
        long counter = granted(store, writer).counter();
        busy(store, bob.read(name));
        assertThat(granted(store, writer.withPermits(1)).counter()).isEqualTo(counter);
        Claim reader = bob.read(name);
        granted(store, reader);
        renewed(store, reader);
        assertThat(holders(store, name)).hasSize(2);
        assertThat(released(store, writer)).isTrue();
        assertThat(released(store, reader)).isTrue();
        assertThat(released(store, reader.again())).isFalse();
        busy(store, reader);
        Claim next = alice.mutex(name);
        assertThat(granted(store, next).counter()).isGreaterThan(counter);
        assertThat(released(store, next)).isTrue();
    }

    private void wrongLoginsAreRefused(MemcachedServer server, String options) {
        assertThatThrownBy(() -> open(url(server, "wrong", options)))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("login")
                .hasMessageNotContaining("wrong");
    }

    private static String url(MemcachedServer server, String password, String options) {
        return server.url().replace("://", "://me:" + password + "@") + options;
    }
}
