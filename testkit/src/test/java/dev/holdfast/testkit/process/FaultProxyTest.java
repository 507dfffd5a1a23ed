package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

    private static final int PATIENCE_MILLIS = 20_000;
    private static final int SILENCE_MILLIS = 50;
    private static final int END = -1;

    private final ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
    private final FaultProxy proxy = new FaultProxy(server.getLocalPort());

    FaultProxyTest() throws IOException {}

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

    private static Socket accepted(ServerSocket server) throws IOException {
        server.setSoTimeout(PATIENCE_MILLIS);
        Socket socket = server.accept();
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String received(Socket socket, int length) throws IOException {
        return new String(socket.getInputStream().readNBytes(length), StandardCharsets.US_ASCII);
    }

    private static void assertReceives(Socket socket, String text) throws IOException {
        assertThat(received(socket, text.length())).isEqualTo(text);
    }

    private static void assertSilent(Socket socket) throws IOException {
        socket.setSoTimeout(SILENCE_MILLIS);
        assertThatExceptionOfType(SocketTimeoutException.class)
                .isThrownBy(() -> socket.getInputStream().read());
        socket.setSoTimeout(PATIENCE_MILLIS);
    }

    // A socket that is closed while something for it is unread resets its connection.
    private static void assertEnded(Socket socket) throws IOException {
        int read;
        try {
            read = socket.getInputStream().read();
        } catch (SocketException reset) {
            return;
        }
        assertThat(read).isEqualTo(END);
    }

    @Test
    void withoutAFaultAllPassesWithTheEnd() throws IOException {
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            send(client, "question");
            assertReceives(peer, "question");
            send(peer, "answer");
            assertReceives(client, "answer");
            send(client, "next");
            assertReceives(peer, "next");
            assertThat(proxy.bytes(Way.TO_SERVER)).isEqualTo(12);
            assertThat(proxy.bytes(Way.TO_CLIENT)).isEqualTo(6);
            assertThat(proxy.tripsOfBusiestConnection()).isEqualTo(2);
            assertThat(proxy.isUsed()).isTrue();
            client.close();
            assertEnded(peer);
        }
        String url = "redis://127.0.0.1:" + server.getLocalPort() + "?a=b";
        try (FaultProxy other = FaultProxy.before(url);
                Socket client = new Socket(InetAddress.getLoopbackAddress(), other.port());
                Socket peer = accepted(server)) {
            assertThat(other.in(url)).isEqualTo("redis://" + other.address() + "?a=b");
            send(client, "a");
            assertReceives(peer, "a");
        }
    }

    @Test
    void whatIsSentIntoSilenceArrivesWhenItIsHealed() throws IOException {
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            send(client, "a");
            assertReceives(peer, "a");
            proxy.silence();
            send(client, "b");
            send(peer, "c");
            assertSilent(peer);
            assertSilent(client);
            try (Socket later = connected()) {
                send(later, "d");
                client.close();
                assertSilent(peer);
                server.setSoTimeout(SILENCE_MILLIS);
                assertThatThrownBy(server::accept).isInstanceOf(SocketTimeoutException.class);
                proxy.heal();
                assertReceives(peer, "b");
                assertEnded(peer);
                try (Socket other = accepted(server)) {
                    assertReceives(other, "d");
                }
            }
        }
    }

    @Test
    void silenceInOneDirectionLetsTheOtherOnePass() throws IOException {
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            proxy.silence(Way.TO_SERVER);
            assertThat(proxy.isSilent(Way.TO_SERVER)).isTrue();
            assertThat(proxy.isSilent(Way.TO_CLIENT)).isFalse();
            send(client, "a");
            assertSilent(peer);
            send(peer, "b");
            assertReceives(client, "b");
            client.close();
            assertSilent(peer);
            proxy.close();
            assertThat(peer.getInputStream().read()).as("what was held back").isEqualTo(END);
        }
    }

    @Test
    void serverDoesNotHearOfForgottenClientsInSilence() throws IOException {
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            proxy.silence();
            proxy.forgetClients();
            assertEnded(client);
            assertSilent(peer);
            proxy.heal();
            assertEnded(peer);
        }
    }

    @Test
    void delayIsThatOfBothWays() throws IOException {
        Duration oneWay = Duration.ofMillis(30);
        proxy.delay(oneWay);
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            long begun = System.nanoTime();
            send(client, "a");
            assertReceives(peer, "a");
            send(peer, "b");
            assertReceives(client, "b");
            assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(oneWay.multipliedBy(2));
        }
    }

    @Test
    void refusalEndsConnectionsOldAndNew() throws IOException {
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            proxy.refuse();
            assertEnded(client);
            assertEnded(peer);
            try (Socket later = connected()) {
                assertEnded(later);
            }
        }
        proxy.heal();
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            send(client, "a");
            assertReceives(peer, "a");
        }
    }

    @Test
    void cutLetsSoManyBytesPass() throws IOException {
        for (Way way : Way.values()) {
            try (Socket client = connected();
                    Socket peer = accepted(server)) {
                Socket from = way == Way.TO_SERVER ? client : peer;
                Socket to = way == Way.TO_SERVER ? peer : client;
                proxy.cutAfter(way, 5);
                send(from, "abc");
                assertReceives(to, "abc");
                assertThat(proxy.hasCut()).isFalse();
                send(from, "def");
                assertReceives(to, "de");
                assertEnded(to);
                assertEnded(from);
                assertThat(proxy.hasCut()).isTrue();
            }
        }
        proxy.cutAfter(Way.TO_SERVER, 0);
        proxy.cutNothing();
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            send(client, "a");
            assertReceives(peer, "a");
        }
    }

    @Test
    void judgeLosesAndReplacesMessages() throws IOException {
        proxy.judge((way, isFirst, message) -> switch (new String(message, StandardCharsets.US_ASCII)) {
            case "lose" -> Fate.lose();
            case "replace" -> Fate.pass(isFirst ? new byte[] {'1'} : new byte[] {'2'});
            default -> Fate.pass(message);
        });
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            send(client, "replace");
            assertReceives(peer, "1");
            send(client, "replace");
            assertReceives(peer, "2");
            send(peer, "replace");
            assertReceives(client, "1");
            send(client, "lose");
            assertEnded(peer);
            assertEnded(client);
        }
    }

    @Test
    void lostReplyEndsTheConnectionAfterTheRequest() throws IOException {
        proxy.judge((way, isFirst, message) -> Fate.loseReply(message));
        try (Socket client = connected();
                Socket peer = accepted(server)) {
            send(client, "a");
            assertReceives(peer, "a");
            assertEnded(peer);
            assertSilent(client);
            send(peer, "b");
            peer.close();
            assertThat(client.getInputStream().read()).isEqualTo(END);
        }
    }

    @Test
    void framingTellsTheMessages() throws IOException {
        FaultProxy.Framing pairs = (in, way) -> {
            byte[] pair = in.readNBytes(2);
            if (pair.length < 2) {
                throw new IOException("the end");
            }
            return pair;
        };
        try (FaultProxy framed = new FaultProxy(server.getLocalPort(), pairs)) {
            framed.judge((way, isFirst, message) -> Fate.pass(new byte[] {message[1], message[0]}));
            try (Socket client = new Socket(InetAddress.getLoopbackAddress(), framed.port());
                    Socket peer = accepted(server)) {
                send(client, "a");
                assertSilent(peer);
                send(client, "bcde");
                assertReceives(peer, "badc");
            }
        }
    }

    @Test
    void newConnectionsLeadToTheOtherServer() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                Socket old = connected();
                Socket peer = accepted(server)) {
            proxy.leadTo(other.getLocalPort());
            send(old, "a");
            assertReceives(peer, "a");
            try (Socket client = connected();
                    Socket there = accepted(other)) {
                send(client, "b");
                assertReceives(there, "b");
                proxy.endConnections();
                assertEnded(old);
                assertEnded(client);
            }
        }
    }

    @Test
    void serverThatRefusesEndsTheConnectionUnlessItIsWaitedFor() throws IOException {
        int port = server.getLocalPort();
        server.close();
        try (Socket client = connected()) {
            assertEnded(client);
        }
        proxy.awaitServer(Duration.ofMillis(PATIENCE_MILLIS));
        try (Socket client = connected();
                ServerSocket again = new ServerSocket(port, 5, InetAddress.getLoopbackAddress());
                Socket peer = accepted(again)) {
            send(client, "a");
            assertReceives(peer, "a");
        }
    }
}
