package dev.holdfast.benchmarks.server;

import dev.holdfast.testkit.process.Ports;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;

/** One etcd member with its defaults: each write waits for the disk. */
public final class EtcdNode implements Server {

    private final int port = Ports.reserve();
    private final Daemon daemon;
    private final HttpClient http = HttpClient.newHttpClient();

    public EtcdNode() {
        Path folder = Daemon.folder("");
        String peer = "http://127.0.0.1:" + Ports.reserve();
        daemon = Daemon.start(
                folder,
                port,
                List.of(
                        Daemon.program("etcd-server", "/usr/bin/etcd", "/usr/local/bin/etcd"),
                        "--data-dir",
                        folder.resolve("data").toString(),
                        "--listen-client-urls",
                        endpoint(),
                        "--advertise-client-urls",
                        endpoint(),
                        "--listen-peer-urls",
                        peer,
                        "--initial-advertise-peer-urls",
                        peer,
                        "--initial-cluster",
                        "default=" + peer));
    }

    private String endpoint() {
        return "http://127.0.0.1:" + port;
    }

    @Override
    public String url() {
        return "etcd://127.0.0.1:" + port;
    }

    @Override
    public String target() {
        return endpoint();
    }

    @Override
    public String describe() {
        return Daemon.firstLine("/usr/bin/etcd", "--version") + ", one member, sync on each write";
    }

    @Override
    public long requests() {
        try {
            String metrics = http.send(
                            HttpRequest.newBuilder(URI.create(endpoint() + "/metrics"))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString())
                    .body();
            return (long) metrics.lines()
                    .filter(line -> line.startsWith("grpc_server_msg_received_total{"))
                    .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .sum();
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(stopped);
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
