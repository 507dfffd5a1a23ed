package dev.holdfast.benchmarks.soak;

import dev.holdfast.Holdfast;
import dev.holdfast.benchmarks.server.EtcdNode;
import dev.holdfast.benchmarks.server.FileStore;
import dev.holdfast.benchmarks.server.MemcachedNode;
import dev.holdfast.benchmarks.server.NoServer;
import dev.holdfast.benchmarks.server.RedisNode;
import dev.holdfast.benchmarks.server.Server;
import dev.holdfast.benchmarks.server.SqlNode;
import dev.holdfast.benchmarks.server.ThreeNodes;
import dev.holdfast.benchmarks.server.ZooKeeperNode;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.Providers;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A store with its server, how clients of it are opened, and how it is looked into. Thread-safe, but for its end. */
final class SoakedStore implements AutoCloseable {

    /** All that there are, in the order of the tables. */
    static final List<String> NAMES = List.of(
            "memory",
            "sqlite",
            "redis",
            "redis-lettuce",
            "quorum",
            "postgres",
            "mariadb",
            "zookeeper",
            "etcd",
            "memcached");

    private static final Pattern PORT = Pattern.compile("127\\.0\\.0\\.1:(\\d+)");
    private static final int MOST_NAMES = 10_000;

    private final String name;
    private final Server server;
    private final String url;
    private final Probe probe;
    private final Set<Integer> ports = new TreeSet<>();
    /** The store in memory is one object, which all clients share; the others have one for each client. */
    private @Nullable LockStore shared;

    private SoakedStore(String name, Server server, String url, Probe probe) {
        this.name = name;
        this.server = server;
        this.url = url;
        this.probe = probe;
        this.shared = name.equals("memory") ? Providers.open(url, MonotonicClock.SYSTEM) : null;
        this.ports.addAll(ports(server));
    }

    /** Starts a server of its own for a store. */
    static SoakedStore start(String name) {
        return switch (name) {
            case "memory" -> plain(name, new NoServer(), Probe.NONE);
            case "sqlite" -> {
                Server server = new FileStore();
                yield plain(name, server, SqlProbe.sqlite("jdbc:" + server.url()));
            }
            case "redis" -> redis(name, "");
            case "redis-lettuce" -> redis(name, "+lettuce");
            case "quorum" -> {
                Server server = new ThreeNodes();
                yield plain(name, server, new RedisProbe(ports(server)));
            }
            case "postgres" -> {
                Server server = SqlNode.postgres();
                yield plain(name, server, SqlProbe.postgres(server.url()));
            }
            case "mariadb" -> {
                Server server = SqlNode.mariadb();
                yield plain(name, server, SqlProbe.mariadb(server.url()));
            }
            case "zookeeper" -> {
                Server server = new ZooKeeperNode();
                yield plain(name, server, new ZooKeeperProbe(ports(server).get(0)));
            }
            case "etcd" -> {
                Server server = new EtcdNode();
                yield plain(name, server, new EtcdProbe(server.target()));
            }
            case "memcached" -> {
                Server server = new MemcachedNode();
                yield plain(name, server, new MemcachedProbe(ports(server).get(0)));
            }
            default -> throw new IllegalArgumentException("There is no store " + name + ", but there are " + NAMES);
        };
    }

    private static SoakedStore plain(String name, Server server, Probe probe) {
        return new SoakedStore(name, server, server.url(), probe);
    }

    // Records of idle locks are kept as briefly as the store allows, so that a long run sees them end.
    private static SoakedStore redis(String name, String client) {
        Server server = new RedisNode();
        String url = server.url().replace("://", client + "://") + "?keep=50s";
        return new SoakedStore(name, server, url, new RedisProbe(ports(server)));
    }

    private static List<Integer> ports(Server server) {
        List<Integer> found = new ArrayList<>();
        Matcher port = PORT.matcher(server.target());
        while (port.find()) {
            found.add(Integer.valueOf(port.group(1)));
        }
        return found;
    }

    String name() {
        return name;
    }

    /** The port of the server, or of the first of several. */
    int port() {
        return ports.iterator().next();
    }

    /** Opens a client. */
    Holdfast connect(String label) {
        Holdfast.Builder settings = Holdfast.builder().label(label);
        return (shared == null ? settings.url(url) : settings.store(shared)).connect();
    }

    /** How many connections this process has to the server, those of the server's observer included. */
    int connections() {
        return ports.isEmpty() ? 0 : Sockets.to(ports);
    }

    /** Requests that the server has counted so far, or negative. Redis counts each command of a script. */
    long requests() {
        return server.countsForFree() ? server.requests() : probe.requests();
    }

    /** Keys, rows or nodes, idle ones included; negative if nobody counts them. */
    long entries() {
        return probe.entries();
    }

    /** The names that somebody holds or waits for, as a new client sees them; each with who that is. */
    List<String> namesInUse() {
        try (Holdfast locks = connect("soak-inspector")) {
            return locks.list("", MOST_NAMES).stream()
                    .map(used ->
                            used + " " + locks.state(used).map(Object::toString).orElse("(not any more)"))
                    .toList();
        }
    }

    /** What is in the server and should not be while no client is open. */
    List<String> residue() {
        return probe.residue();
    }

    /** Ends the store in memory: what it remembers of released claims belongs to nobody then. */
    void closeShared() {
        if (shared != null) {
            shared.close();
            shared = null;
        }
    }

    @Override
    public void close() {
        closeShared();
        server.close();
    }
}
