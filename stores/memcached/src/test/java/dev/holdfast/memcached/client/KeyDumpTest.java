package dev.holdfast.memcached.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.testkit.process.MemcachedServer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The dump of a server's keys. */
class KeyDumpTest {

    /** Of the dumps of the server's lists by age one of some hundred misses a key. */
    private static final int DUMPS = 500;

    @AutoClose
    private static MemcachedServer server = MemcachedServer.start();

    private final EventLoopGroup thread = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

    @AfterEach
    void stopTheThread() {
        thread.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** The server moves new keys from one of its lists to another while it is asked for them. */
    @Test
    void noKeyIsMissed() throws Exception {
        KeyDump dump = dump(server.port());
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
                BufferedReader in = reader(socket)) {
            for (int i = 0; i < DUMPS; i++) {
                List<String> keys = keys(i);
                StringBuilder commands = new StringBuilder();
                for (String key : keys) {
                    // A key that is read twice is not one of those that the server would drop first.
                    commands.append("set ").append(key).append(" 0 0 1\r\nv\r\n");
                    commands.append(("get " + key + "\r\n").repeat(2));
                }
                command(socket, commands.toString());
                for (int line = 0; line < 7 * keys.size(); line++) {
                    assertThat(in.readLine()).matches("STORED|VALUE .*|v|END");
                }
                assertThat(keys(dump)).as("dump %d", i).containsExactlyInAnyOrderElementsOf(keys);
                command(socket, "delete " + String.join("\r\ndelete ", keys) + "\r\n");
                for (int line = 0; line < keys.size(); line++) {
                    assertThat(in.readLine()).isEqualTo("DELETED");
                }
            }
        }
    }

    private static List<String> keys(int round) {
        return IntStream.range(0, 25).mapToObj(i -> "key-" + round + "-" + i).toList();
    }

    /** Older servers have no other dump than that of the lists by age. */
    @Test
    void olderServerIsAskedForItsLists() throws Exception {
        try (ServerSocket old = oldServer("key=key-1 exp=-1\r\nEND\r\n")) {
            assertThat(keys(dump(old.getLocalPort()))).containsExactly("key-1");
        }
    }

    @Test
    void serverWithoutTheCrawlerSaysSo() throws Exception {
        try (ServerSocket old = oldServer("CLIENT_ERROR lru crawler disabled\r\n")) {
            assertThatThrownBy(() -> keys(dump(old.getLocalPort())))
                    .isInstanceOf(ExecutionException.class)
                    .hasMessageContaining("CLIENT_ERROR lru crawler disabled");
        }
    }

    /** Stands in for an older server, which answers a dump of all lists and refuses any other. */
    private static ServerSocket oldServer(String answer) throws IOException {
        ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Thread serving = new Thread(
                () -> {
                    try (Socket socket = listening.accept();
                            BufferedReader in = reader(socket)) {
                        for (String line = in.readLine(); line != null; line = in.readLine()) {
                            boolean isKnown = line.equals("lru_crawler metadump all");
                            command(socket, isKnown ? answer : "BADCLASS invalid class id\r\n");
                        }
                    } catch (IOException closed) {
                        // The test has ended.
                    }
                },
                "old-memcached");
        serving.setDaemon(true);
        serving.start();
        return listening;
    }

    private KeyDump dump(int port) {
        MemcachedUrl url = MemcachedUrl.parse("memcached://127.0.0.1:" + port);
        return new KeyDump(url, Tls.of(url), thread);
    }

    private static List<String> keys(KeyDump dump) throws Exception {
        return dump.keys("key-").get(30, TimeUnit.SECONDS);
    }

    private static BufferedReader reader(Socket socket) throws IOException {
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
    }

    private static void command(Socket socket, String text) throws IOException {
        OutputStream out = socket.getOutputStream();
        out.write(text.getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }
}
