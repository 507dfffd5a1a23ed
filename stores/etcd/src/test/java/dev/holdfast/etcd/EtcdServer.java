package dev.holdfast.etcd;

import dev.holdfast.spi.Claim;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ClusterNetwork;
import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.Ports;
import dev.holdfast.testkit.process.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A real server for a test, alone or as a member of a cluster. It listens on free ports of the loopback address,
 * and has its data in a folder of its own, in memory if the system has a folder for that.
 */
final class EtcdServer implements ControlledServer, AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/etcd");
    private static final Path CONTROL = Path.of("/usr/bin/etcdctl");

    /** Longer than a busy machine lets a leader wait, or another one would be elected in the midst of a test. */
    private static final List<String> PATIENT = List.of("--heartbeat-interval=100", "--election-timeout=2000");

    private final ServerProcess process;
    private final String name;
    private final int peerPort = Ports.reserve();
    private final String scheme;
    private final List<String> settings;
    private final List<String> control;
    private String host = "127.0.0.1";
    private String cluster;

    private EtcdServer(String name, String scheme, List<String> settings, List<String> control) {
        this(new ServerProcess("etcd"), name, scheme, settings, control);
    }

    private EtcdServer(ServerProcess process, String name, String scheme, List<String> settings, List<String> control) {
        this.process = process;
        ServerProcess.require(PROGRAM, "etcd-server");
        ServerProcess.require(CONTROL, "etcd-client");
        this.name = name;
        this.scheme = scheme;
        this.settings = settings;
        this.control = control;
        this.cluster = name + "=" + peer();
    }

    /**
     * A single server, with further settings. Its elections are quick, so that leases of one second are possible.
     */
    static EtcdServer start(String... settings) {
        EtcdServer server = new EtcdServer("one", "http", List.of(settings), List.of());
        server.startAgain();
        return server;
    }

    /** A single server in a process that was prepared. */
    static EtcdServer start(ServerProcess process) {
        EtcdServer server = new EtcdServer(process, "one", "http", List.of(), List.of());
        server.startAgain();
        return server;
    }

    /** A server that requires TLS. */
    static EtcdServer startTls(List<String> settings, List<String> control) {
        EtcdServer server = new EtcdServer("one", "https", settings, control);
        server.startAgain();
        return server;
    }

    /** Members of one cluster. */
    static List<EtcdServer> startCluster(int size) {
        List<EtcdServer> members = members(size, PATIENT);
        startCluster(members);
        return members;
    }

    /** Members of one cluster, each in a network of its own. Their elections are as quick as by default. */
    static List<EtcdServer> startCluster(ClusterNetwork network) {
        List<EtcdServer> members =
                members(ClusterNetwork.SERVERS, List.of("--heartbeat-interval=100", "--election-timeout=1000"));
        for (int i = 0; i < members.size(); i++) {
            members.get(i).moveTo(network.host(i), network.prefix(i));
        }
        startCluster(members);
        return members;
    }

    private static List<EtcdServer> members(int size, List<String> settings) {
        List<EtcdServer> members = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            members.add(new EtcdServer("member" + i, "http", settings, List.of()));
        }
        return members;
    }

    private void moveTo(String newHost, List<String> prefix) {
        host = newHost;
        cluster = name + "=" + peer();
        process.startIn(prefix);
    }

    private static void startCluster(List<EtcdServer> members) {
        String all =
                String.join(",", members.stream().map(member -> member.cluster).toList());
        for (EtcdServer member : members) {
            member.cluster = all;
            member.begin();
        }
        members.forEach(EtcdServer::awaitHealth);
    }

    @Override
    public void startAgain() {
        begin();
        awaitHealth();
    }

    /** Starts it without waiting for it. */
    void begin() {
        String client = client();
        String peer = peer();
        List<String> command = new ArrayList<>(List.of(
                PROGRAM.toString(),
                "--name=" + name,
                "--data-dir=" + process.folder().resolve("data"),
                "--listen-client-urls=" + client,
                "--advertise-client-urls=" + client,
                "--listen-peer-urls=" + peer,
                "--initial-advertise-peer-urls=" + peer,
                "--initial-cluster=" + cluster,
                "--heartbeat-interval=50",
                "--election-timeout=500",
                "--logger=zap",
                "--log-level=warn"));
        command.addAll(settings);
        process.start(command);
    }

    private String client() {
        return scheme + "://" + address();
    }

    private String peer() {
        return "http://" + host + ":" + peerPort;
    }

    void awaitHealth() {
        process.awaitReady(this::isHealthy);
    }

    private boolean isHealthy() {
        List<String> command = new ArrayList<>(control());
        command.addAll(List.of("--command-timeout=1s", "endpoint", "health"));
        try {
            return run(command).waitFor() == 0;
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    /** {@code etcdctl} with the address of this server. */
    List<String> control() {
        List<String> command = new ArrayList<>(List.of(CONTROL.toString(), "--endpoints=" + client()));
        command.addAll(control);
        return command;
    }

    /** Runs {@code etcdctl} to its end and returns its output. */
    String control(String... arguments) {
        List<String> command = new ArrayList<>(control());
        command.addAll(List.of(arguments));
        try {
            Process run = run(command);
            String output = new String(run.getInputStream().readAllBytes());
            if (run.waitFor() != 0) {
                throw new AssertionError(String.join(" ", command) + ": " + output);
            }
            return output;
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    /** Adds the users root, and app, who has the rights that locks need. They count when log-ins are enabled. */
    void addUsers(String passwordOfApp) {
        control("user", "add", "root:secret");
        control("user", "add", "app:" + passwordOfApp);
        control("user", "grant-role", "root", "root");
        control("role", "add", "locks");
        control("role", "grant-permission", "locks", "--prefix=true", "readwrite", "holdfast/");
        control("user", "grant-role", "app", "locks");
    }

    /** Revokes the lease that a claim's key is attached to, as if the client had died. */
    void revokeLeaseOf(Claim claim) {
        control("lease", "revoke", leaseOf(claim));
    }

    /** The number of the lease that a claim's key is attached to. */
    String leaseOf(Claim claim) {
        List<String> lines = control("get", "holdfast/" + claim.name() + "/", "--prefix")
                .lines()
                .toList();
        String key = lines.get(lines.indexOf(claim.id().toString()) - 2);
        String rest = key.substring(key.lastIndexOf('/') + 1);
        return rest.replaceAll("-.*", "");
    }

    static Process run(List<String> command) {
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            builder.environment().put("ETCDCTL_API", "3");
            return builder.start();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Override
    public int port() {
        return process.port();
    }

    String address() {
        return host + ":" + process.port();
    }

    String url() {
        return "etcd://" + address();
    }

    /** Whether this member leads its cluster. One that is not ready does not. */
    private boolean isLeader() {
        try {
            String status = control("endpoint", "status", "--write-out=fields");
            return field(status, "MemberID").equals(field(status, "Leader"));
        } catch (AssertionError notReady) {
            return false;
        }
    }

    /** Waits until one of them leads, and returns it. */
    static EtcdServer leader(List<EtcdServer> members) {
        AtomicReference<EtcdServer> leader = new AtomicReference<>();
        StoreTest.awaitUntil(
                () -> {
                    members.stream().filter(EtcdServer::isLeader).findFirst().ifPresent(leader::set);
                    return leader.get() != null;
                },
                "no leader");
        return leader.get();
    }

    private static String field(String status, String name) {
        return status.lines()
                .filter(line -> line.startsWith("\"" + name + "\""))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElseThrow(() -> new AssertionError(status));
    }

    /** Sends a signal: STOP freezes, CONT lets it go on. */
    void signal(String signal) {
        process.signal(signal);
    }

    @Override
    public void freeze() {
        process.signal("STOP");
    }

    @Override
    public void thaw() {
        process.signal("CONT");
    }

    @Override
    public boolean isRunning() {
        return process.isAlive();
    }

    @Override
    public void kill() {
        process.kill();
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.kill();
        }
        process.removeFolder();
    }
}
