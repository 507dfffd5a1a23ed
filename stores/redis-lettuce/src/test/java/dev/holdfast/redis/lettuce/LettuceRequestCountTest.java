package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.redis.RedisServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The commands that Lettuce sends, as the server's {@code MONITOR} shows them. */
class LettuceRequestCountTest {

    @Test
    void monitorShowsTwoRequestsForLockAndUnlock() throws IOException {
        try (RedisServer server = RedisServer.start();
                Holdfast locks = Holdfast.connect(LettuceUrl.of(server.url()));
                Socket monitor = new Socket("127.0.0.1", server.port());
                Socket marker = new Socket("127.0.0.1", server.port())) {
            DistributedLock lock = locks.lock("watched");
            lock.lock();
            lock.unlock();
            BufferedReader lines = send(monitor, "MONITOR");
            assertThat(lines.readLine()).isEqualTo("+OK");
            lock.lock();
            lock.unlock();
            send(marker, "ECHO after").readLine();
            List<String> requests = new ArrayList<>();
            List<String> inside = new ArrayList<>();
            for (String line = lines.readLine(); !line.contains("\"ECHO\""); line = lines.readLine()) {
                (line.contains(" lua] ") ? inside : requests).add(line);
            }
            assertThat(requests).hasSize(2).allMatch(line -> line.contains("\"EVALSHA\""));
            assertThat(inside).as("what the scripts do is shown, too").isNotEmpty();
        }
    }

    private static BufferedReader send(Socket socket, String command) throws IOException {
        socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }
}
