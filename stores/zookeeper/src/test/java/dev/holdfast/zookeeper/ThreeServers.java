package dev.holdfast.zookeeper;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ChildJvm;
import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An ensemble of three servers, each a process of its own, so that each can be killed, frozen and started again.
 * Server 0 and the others are connected through pipes, unless they are in a {@link ClusterNetwork}. When the pipes
 * stop, it is disconnected from the others, but not from its clients. Its number in the ensemble is the highest one, so
 * it wins elections among equals.
 */
final class ThreeServers implements AutoCloseable {

    private static final List<String> JVM =
            List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no");

    /** A busy machine lets a server wait long, and no other leader is to be elected in the midst of a test. */
    private static final String PATIENT = "initLimit=20\nsyncLimit=20";

    /** A server that is cut off is to be noticed after 2 s. */
    private static final String IMPATIENT = "initLimit=10\nsyncLimit=4";

    private static final String HERE = "127.0.0.1";
    private static final int MAX_ELECTIONS = 5;
    private static final Duration START = Duration.ofSeconds(2);

    private final Path directory;
    private final @Nullable ClusterNetwork network;
    private final int[] clientPorts;
    private final List<Path> configs = new ArrayList<>();
    private final List<FaultProxy> fromZero = new ArrayList<>();
    private final List<FaultProxy> toZero = new ArrayList<>();
    private final ChildJvm[] servers = new ChildJvm[3];

    ThreeServers(Path directory) {
        this(directory, null);
    }

    ThreeServers(Path directory, @Nullable ClusterNetwork network) {
        this.directory = directory;
        this.network = network;
        int[] ports = IntStream.generate(Ports::reserve).limit(9).toArray();
        clientPorts = new int[] {ports[0], ports[1], ports[2]};
        int[] peer = {ports[3], ports[4], ports[5]};
        int[] election = {ports[6], ports[7], ports[8]};
        for (int i = 0; i < 3; i++) {
            StringBuilder config = new StringBuilder(settings(i));
            for (int j = 0; j < 3; j++) {
                List<FaultProxy> pipes = i == 0 ? fromZero : toZero;
                boolean piped = network == null && (i == 0) != (j == 0);
                int peerPort = piped ? pipe(pipes, peer[j]) : peer[j];
                int electionPort = piped ? pipe(pipes, election[j]) : election[j];
                config.append("server.").append(id(j)).append('=').append(address(j));
                config.append(':').append(peerPort);
                config.append(':').append(electionPort).append('\n');
            }
            write(i, config.toString());
            start(i);
        }
        leader();
    }

    private String settings(int server) {
        return String.join(
                "\n",
                "tickTime=500",
                network == null ? PATIENT : IMPATIENT,
                "admin.enableServer=false",
                "4lw.commands.whitelist=srvr",
                "minSessionTimeout=1000",
                "maxSessionTimeout=20000",
                "clientPort=" + clientPorts[server],
                "clientPortAddress=" + address(server),
                "dataDir=" + directory.resolve("data" + server),
                "");
    }

    private static int id(int server) {
        return 3 - server;
    }

    private String address(int server) {
        return network == null ? HERE : network.host(server);
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
        servers[server] = ServerProgram.startBehind(
                network == null ? List.of() : network.prefix(server),
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
     * Makes the others lose their connections to server 0 and elect another leader, while server 0 receives nothing, and
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
        return IntStream.range(0, 3).mapToObj(this::host).collect(Collectors.joining(","));
    }

    String host(int server) {
        return address(server) + ":" + clientPorts[server];
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

    /** Waits until one leads and both others follow. */
    void awaitEnsemble() {
        StoreTest.awaitUntil(() -> {
            List<String> modes = IntStream.range(0, 3).mapToObj(this::mode).toList();
            return Collections.frequency(modes, "leader") == 1 && Collections.frequency(modes, "follower") == 2;
        });
    }

    private String mode(int server) {
        return ServerStatus.mode(address(server), clientPorts[server]);
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
