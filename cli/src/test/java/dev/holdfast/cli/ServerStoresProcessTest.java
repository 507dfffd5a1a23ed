package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.Ports;
import dev.holdfast.testkit.process.ServerProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The tool on stores that are servers: the same commands, and an exit code of its own if the server is not there. */
class ServerStoresProcessTest extends ToolTest {

    private final List<ServerProcess> servers = new ArrayList<>();

    @AfterEach
    void stopTheServers() {
        servers.forEach(ServerProcess::kill);
        servers.forEach(ServerProcess::removeFolder);
    }

    @Test
    void redis() {
        int port = Ports.reserve();
        start("redis-server", port, "redis-server", "--port", "" + port, "--save", "", "--bind", "127.0.0.1");
        commandsWork("redis://127.0.0.1:" + port);
    }

    @Test
    void etcd() {
        int port = Ports.reserve();
        String client = "http://127.0.0.1:" + port;
        String peer = "http://127.0.0.1:" + Ports.reserve();
        start(
                "etcd-server",
                port,
                "etcd",
                "--data-dir",
                tool.file("etcd").toString(),
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                "default=" + peer);
        commandsWork("etcd://127.0.0.1:" + port);
        // Between its renewals less is left of such a session than the grace for such a lease.
        tool.with("HOLDFAST_STORE", "etcd://127.0.0.1:" + port + "?session=6s");
        assertThat(tool.run("run", "--lease", "1m", "c", "--", "sleep", "4").exit())
                .isZero();
    }

    @Test
    void memcached() {
        int port = Ports.reserve();
        start("memcached", port, "memcached", "-l", "127.0.0.1", "-p", "" + port, "-u", "nobody");
        commandsWork("memcached://127.0.0.1:" + port, false);
    }

    @Test
    void quorum() {
        List<Integer> ports = List.of(Ports.reserve(), Ports.reserve(), Ports.reserve());
        for (int port : ports) {
            start("redis-server", port, "redis-server", "--port", "" + port, "--save", "", "--bind", "127.0.0.1");
        }
        String nodes = ports.stream().map(port -> "redis://127.0.0.1:" + port).collect(Collectors.joining(","));
        commandsWork("quorum:" + nodes + "#newNodes=true&nodeTimeout=5s&maxLease=10m", false);
        Result refused = tool.run("elect", "--lease", "11m", "c", "--", "true");
        assertThat(refused.exit()).as("a lease that is never granted").isEqualTo(ExitCode.UNAVAILABLE);
        assertThat(refused.err()).hasLineCount(1).contains("maxLease");
        Result unserved = tool.run("run", "--of", "2", "c", "--", "true");
        assertThat(unserved.exit()).as("no outage, in which to try again helps").isEqualTo(ExitCode.USAGE);
        assertThat(unserved.err()).hasLineCount(1).contains("semaphore", "quorum");
    }

    @Test
    void h2() {
        commandsWork("jdbc:h2:" + tool.file("h2") + ";AUTO_SERVER=TRUE");
    }

    @Test
    void aServerThatIsNotThereHasItsOwnExitCodeAndThePasswordIsNotShown() {
        int nobody = Ports.reserve();
        for (String url : List.of(
                "redis://me:hunter2@127.0.0.1:" + nobody + "?timeout=200ms",
                "jdbc:postgresql://127.0.0.1:" + nobody + "/app?user=me&password=hunter2",
                "jdbc:mariadb://127.0.0.1:" + nobody + "/app?user=me&password=hunter2",
                "etcd://me:hunter2@127.0.0.1:" + nobody + "?timeout=200ms",
                "zookeeper://me:hunter2@127.0.0.1:" + nobody + "?timeout=200ms",
                "memcached://me:hunter2@127.0.0.1:" + nobody + "?timeout=200ms",
                "quorum:" + nodesAt(nobody))) {
            Result result = tool.run("run", "--store", url, "-n", "a", "--", "true");
            assertThat(result.exit()).as(url + ": " + result.err()).isEqualTo(ExitCode.UNAVAILABLE);
            assertThat(result.err())
                    .as(url)
                    .hasLineCount(1)
                    .contains("127.0.0.1")
                    .doesNotContain("hunter2");
        }
    }

    @Test
    void aLeaderThatIsCutOffEndsItsCommandBeforeTheNextOneBeginsAndStandsAgain() {
        int port = Ports.reserve();
        start("redis-server", port, "redis-server", "--port", "" + port, "--save", "", "--bind", "127.0.0.1");
        try (FaultProxy proxy = new FaultProxy(port)) {
            Running first = lead("redis://127.0.0.1:" + proxy.port());
            awaitCommands(1);
            Running second = lead("redis://127.0.0.1:" + port);
            Tool.await(
                    "the second stands",
                    () -> tool.run("elect", "--status", "--store", "redis://127.0.0.1:" + port, "x")
                            .out()
                            .contains("waits"));
            proxy.silence();
            awaitCommands(2);
            proxy.heal();
            second.signal("TERM");
            assertThat(second.await().exit()).isEqualTo(128 + 15);
            awaitCommands(3);
            first.signal("TERM");
            assertThat(first.await().exit()).isEqualTo(128 + 15);
        }
        String running = "";
        for (String line : tool.text("log").lines().toList()) {
            String[] words = line.split(" ");
            running = words[0].equals("begins") ? words[1] : running;
            assertThat(words[1]).as("who runs after the next one has begun").isEqualTo(running);
        }
    }

    /** Its command writes into one file that it begins, and again and again that it runs. */
    private Running lead(String url) {
        return tool.start(
                "elect",
                "--store",
                url,
                "--lease",
                "6s",
                "x",
                "--",
                "sh",
                "-c",
                "echo begins $$ >> log; i=0; while [ $i -lt 1200 ]; do echo runs $$ >> log; sleep 0.05; i=$((i + 1)); done");
    }

    private void awaitCommands(int count) {
        assertThat(tool.awaitLines("log", "begins", count)).hasSize(count);
    }

    private static String nodesAt(int port) {
        return IntStream.range(1, 4)
                .mapToObj(host -> "redis://me:hunter2@127.0.0." + host + ":" + port + "?timeout=200ms")
                .collect(Collectors.joining(","));
    }

    private void commandsWork(String url) {
        commandsWork(url, true);
    }

    private void commandsWork(String url, boolean hasQueue) {
        tool.with("HOLDFAST_STORE", url);
        Running holder = tool.start("run", "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN > token; " + Tool.UNTIL_SIGNAL);
        String token = tool.await("token");
        assertThat(tool.run("run", "-n", "a", "--", "true").exit()).as("busy").isEqualTo(1);
        assertThat(tool.run("show", "a").out())
                .startsWith("\"a\": mutex, 1 holder")
                .contains(token);
        assertThat(tool.run("list").out()).containsPattern("a +mutex +1 +0 ");
        Running waiter = tool.start("run", "-w", "2m", "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN");
        if (hasQueue) {
            Tool.await("the waiter", () -> tool.run("show", "a").out().contains("1 waiter"));
        }
        holder.signal("TERM");
        assertThat(holder.await().exit()).isEqualTo(128 + 15);
        Result next = waiter.await();
        assertThat(next.exit()).as(next.err()).isZero();
        assertThat(Long.parseLong(next.out().strip())).isGreaterThan(Long.parseLong(token));
        assertThat(tool.run("show", "a").out()).contains("nobody holds it and nobody waits");
        // A session grants less than this, however often it is asked.
        Result led = tool.run("elect", "--lease", "10m", "b", "--", "sh", "-c", "exit 3");
        assertThat(led.exit()).as(led.err()).isEqualTo(3);
    }

    private void start(String debianPackage, int port, String... command) {
        ServerProcess.require(Path.of("/usr/bin", command[0]), debianPackage);
        ServerProcess server = new ServerProcess(command[0]);
        server.start(command);
        servers.add(server);
        server.awaitReady(() -> answers(port));
    }

    private static boolean answers(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 100);
            return true;
        } catch (IOException notYet) {
            return false;
        }
    }
}
