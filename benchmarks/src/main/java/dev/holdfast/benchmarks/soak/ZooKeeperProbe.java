package dev.holdfast.benchmarks.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** ZooKeeper: folders of idle locks stay until the server removes them. Ephemeral nodes, watches and sessions are leaks. */
final class ZooKeeperProbe implements Probe {

    private final int port;

    ZooKeeperProbe(int port) {
        this.port = port;
    }

    @Override
    public long entries() {
        return figure("zk_znode_count");
    }

    @Override
    public List<String> residue() {
        List<String> found = new ArrayList<>();
        for (String what : List.of("zk_ephemerals_count", "zk_watch_count", "zk_global_sessions")) {
            long count = figure(what);
            if (count > 0) {
                found.add(what + " is " + count);
            }
        }
        return found;
    }

    private long figure(String name) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("mntr\n".getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return answer.lines()
                    .map(line -> line.split("\\s+"))
                    .filter(line -> line[0].equals(name))
                    .mapToLong(line -> (long) Double.parseDouble(line[1]))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("The server does not say " + name + ": " + answer));
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
