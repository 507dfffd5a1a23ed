package dev.holdfast.zookeeper;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ChildJvm;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * An ensemble of three servers, each a process of its own, so that each can be killed, frozen and started again.
 * Server 0 and the others are connected through pipes. When the pipes stop, it is disconnected from the others, but
 * not from its clients. Its number in the ensemble is the highest one, so it wins elections among equals.
 */
final class ThreeServers implements AutoCloseable {

    private static final List<String> JVM =
            List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no");

    private static final int MAX_ELECTIONS = 5;
    private static final Duration START = Duration.ofSeconds(2);

    private final Path directory;
    private final int[] clientPorts;
    private final List<Path> configs = new ArrayList<>();
    private final List<FaultProxy> fromZero = new ArrayList<>();
    private final List<FaultProxy> toZero = new ArrayList<>();
    private final ChildJvm[] servers = new ChildJvm[3];

    ThreeServers(Path directory) {
        this.directory = directory;
        int[] ports = IntStream.generate(Ports::reserve).limit(9).toArray();
        clientPorts = new int[] {ports[0], ports[1], ports[2]};
        int[] peer = {ports[3], ports[4], ports[5]};
        int[] election = {ports[6], ports[7], ports[8]};
        for (int i = 0; i < 3; i++) {
            StringBuilder config = new StringBuilder();
            config.append(
                    "tickTime=500\ninitLimit=20\nsyncLimit=20\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n");
            config.append("minSessionTimeout=1000\nmaxSessionTimeout=20000\n");
            config.append("clientPort=").append(clientPorts[i]).append("\nclientPortAddress=127.0.0.1\n");
            config.append("dataDir=").append(directory.resolve("data" + i)).append('\n');
            for (int j = 0; j < 3; j++) {
                List<FaultProxy> pipes = i == 0 ? fromZero : toZero;
                boolean piped = (i == 0) != (j == 0);
                int peerPort = piped ? pipe(pipes, peer[j]) : peer[j];
                int electionPort = piped ? pipe(pipes, election[j]) : election[j];
                config.append("server.").append(id(j)).append("=127.0.0.1:").append(peerPort);
                config.append(':').append(electionPort).append('\n');
            }
            write(i, config.toString());
            start(i);
        }
        leader();
    }

    private static int id(int server) {
        return 3 - server;
    }

    private static int pipe(List<FaultProxy> pipes, int port) {
        FaultProxy pipe = new FaultProxy(port);
        // A server takes the end of a new connection for a reply, and would not try again.
        pipe.awaitServer(START);
        pipes.add(pipe);
        return pipe.port();
    }

    private void write(int server, String config) {
        try {
            Path data = Files.createDirectories(directory.resolve("data" + server));
            Files.writeString(data.resolve("myid"), Integer.toString(id(server)));
            configs.add(Files.writeString(directory.resolve("server" + server + ".cfg"), config));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    void start(int server) {
        servers[server] = ServerProgram.start(
                JVM,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                configs.get(server).toString());
    }

    void kill(int server) {
        servers[server].close();
    }

    void pause(int server) {
        servers[server].pause();
    }

    void resume(int server) {
        servers[server].resume();
    }

    /** Stops all traffic between server 0 and the others without closing their connections. */
    void cutOffServerZero() {
        fromZero.forEach(FaultProxy::silence);
        toZero.forEach(FaultProxy::silence);
    }

    /**
     * Makes the others lose their connections to server 0 and elect another leader, while server 0 hears nothing, and
     * takes itself for the leader until the time of {@code syncLimit}, 10 s, is over.
     */
    void deposeServerZero() {
        fromZero.forEach(FaultProxy::silence);
        toZero.forEach(FaultProxy::silence);
        toZero.forEach(FaultProxy::forgetClients);
    }

    void reconnectServerZero() {
        fromZero.forEach(FaultProxy::heal);
        toZero.forEach(FaultProxy::heal);
    }

    /** Makes server 0 the leader. */
    void leadByServerZero() {
        for (int i = 0; i < MAX_ELECTIONS; i++) {
            int leader = leader();
            if (leader == 0) {
                return;
            }
            kill(leader);
            leader();
            start(leader);
            awaitServing(leader);
        }
        throw new AssertionError("Server 0 was not elected in " + MAX_ELECTIONS + " elections");
    }

    String hosts() {
        return IntStream.of(clientPorts).mapToObj(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
    }

    String host(int server) {
        return "127.0.0.1:" + clientPorts[server];
    }

    /** Waits until there is a leader, and returns its number. */
    int leader() {
        long deadline = System.nanoTime() + Duration.ofSeconds(40).toNanos();
        while (System.nanoTime() - deadline < 0) {
            for (int i = 0; i < 3; i++) {
                if (mode(i).equals("leader")) {
                    return i;
                }
            }
            StoreTest.pause(50);
        }
        throw new AssertionError(
                "No leader: " + IntStream.range(0, 3).mapToObj(this::mode).toList());
    }

    /** Waits until a server takes part in the ensemble. */
    void awaitServing(int server) {
        StoreTest.awaitUntil(() -> !mode(server).isEmpty());
    }

    private String mode(int server) {
        return ServerStatus.mode(clientPorts[server]);
    }

    @Override
    public void close() {
        for (ChildJvm server : servers) {
            if (server != null) {
                server.close();
            }
        }
        fromZero.forEach(FaultProxy::close);
        toZero.forEach(FaultProxy::close);
    }
}
