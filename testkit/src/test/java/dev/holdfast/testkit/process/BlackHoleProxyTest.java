package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BlackHoleProxyTest {

    private static final int PATIENCE_MILLIS = 20_000;
    private static final int SILENCE_MILLIS = 50;

    private final ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
    private final BlackHoleProxy proxy = new BlackHoleProxy(server.getLocalPort());

    BlackHoleProxyTest() throws IOException {}

    @AfterEach
    void close() throws IOException {
        proxy.close();
        server.close();
    }

    private Socket connected() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private static void assertSilent(Socket socket) throws IOException {
        socket.setSoTimeout(SILENCE_MILLIS);
        assertThatExceptionOfType(SocketTimeoutException.class)
                .isThrownBy(() -> socket.getInputStream().read());
        socket.setSoTimeout(PATIENCE_MILLIS);
    }

    @Test
    void whatIsSentWhileItIsCutArrivesWhenItIsHealed() throws IOException {
        try (Socket client = connected();
                Socket peer = server.accept()) {
            peer.setSoTimeout(PATIENCE_MILLIS);
            client.getOutputStream().write('a');
            assertThat(peer.getInputStream().read()).isEqualTo('a');
            proxy.cut();
            client.getOutputStream().write('b');
            peer.getOutputStream().write('c');
            assertSilent(peer);
            assertSilent(client);
            try (Socket later = connected();
                    Socket other = server.accept()) {
                later.getOutputStream().write('d');
                assertSilent(other);
                client.close();
                proxy.heal();
                assertThat(peer.getInputStream().readAllBytes()).containsExactly('b');
                assertThat(other.getInputStream().read()).isEqualTo('d');
            }
        }
    }

    @Test
    void requestsStillArriveWhileAnswersAreCutAndTheAnswersAreLostWithTheConnection() throws IOException {
        try (Socket client = connected();
                Socket peer = server.accept()) {
            peer.setSoTimeout(PATIENCE_MILLIS);
            proxy.cutAnswers();
            client.getOutputStream().write('a');
            assertThat(peer.getInputStream().read()).isEqualTo('a');
            peer.getOutputStream().write('b');
            assertSilent(client);
            proxy.endConnections();
            assertEnded(client);
            proxy.heal();
        }
        try (Socket later = connected();
                Socket peer = server.accept()) {
            peer.getOutputStream().write('c');
            assertThat(later.getInputStream().read()).isEqualTo('c');
        }
    }

    // As the system likes it: a connection that ends with bytes on their way may be reset.
    private static void assertEnded(Socket client) {
        try {
            assertThat(client.getInputStream().read()).isEqualTo(-1);
        } catch (IOException reset) {
            assertThat(reset).isNotInstanceOf(SocketTimeoutException.class);
        }
    }

    @Test
    void aServerThatRefusesEndsTheConnection() throws IOException {
        server.close();
        try (Socket client = connected()) {
            assertThat(client.getInputStream().read()).isEqualTo(-1);
        }
    }
}
