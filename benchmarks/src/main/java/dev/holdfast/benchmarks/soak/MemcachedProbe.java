package dev.holdfast.benchmarks.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Memcached: values whose time is over are counted until the server needs their room or finds them. */
final class MemcachedProbe implements Probe {

    private static final String ITEMS = "STAT curr_items ";

    private final int port;

    MemcachedProbe(int port) {
        this.port = port;
    }

    @Override
    public long entries() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("stats\r\nquit\r\n".getBytes(StandardCharsets.US_ASCII));
            String stats = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return stats.lines()
                    .filter(line -> line.startsWith(ITEMS))
                    .mapToLong(line -> Long.parseLong(line.substring(ITEMS.length())))
                    .findFirst()
                    .orElse(-1);
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
