package dev.holdfast.benchmarks.server;

import dev.holdfast.testkit.process.Ports;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.Version;

/** A ZooKeeper server in a process of its own, from curator-test; each write waits for the disk. */
public final class ZooKeeperNode implements Server {

    private final int port = Ports.reserve();
    private final Daemon daemon;

    public ZooKeeperNode() {
        Path folder = Daemon.folder("");
        daemon = Daemon.start(
                folder,
                port,
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dzookeeper.4lw.commands.whitelist=*",
                        "-cp",
                        // The server runs in a folder of its own.
                        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                                .map(entry -> Path.of(entry).toAbsolutePath().toString())
                                .collect(Collectors.joining(File.pathSeparator)),
                        ZooKeeperNode.class.getName(),
                        Integer.toString(port),
                        folder.toString()));
    }

    /** The server's process. */
    public static void main(String[] args) throws Exception {
        InstanceSpec spec = new InstanceSpec(
                Path.of(args[1], "data").toFile(),
                Integer.parseInt(args[0]),
                -1,
                -1,
                true,
                1,
                2000,
                300,
                Map.of(),
                "127.0.0.1");
        TestingServer server = new TestingServer(spec, true);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                server.close();
            } catch (IOException failed) {
                System.err.println(failed);
            }
        }));
        Thread.currentThread().join();
    }

    @Override
    public String url() {
        return "zookeeper://127.0.0.1:" + port;
    }

    @Override
    public String target() {
        return "127.0.0.1:" + port;
    }

    @Override
    public String describe() {
        return "ZooKeeper " + Version.getVersion() + ", one server, forceSync on";
    }

    @Override
    public long requests() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("mntr\n".getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return answer.lines()
                    .filter(line -> line.startsWith("zk_packets_received"))
                    .mapToLong(line -> (long) Double.parseDouble(line.split("\\s+")[1]))
                    .findFirst()
                    .orElse(-1);
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public double cpuSeconds() {
        return daemon.cpuSeconds();
    }

    @Override
    public void close() {
        daemon.close();
    }
}
