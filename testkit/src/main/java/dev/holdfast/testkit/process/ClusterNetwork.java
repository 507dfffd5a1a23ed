package dev.holdfast.testkit.process;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A network for the servers of one cluster, each of which has two cables: one to this machine, for its clients, and one
 * to a switch, which leads to the other servers and nowhere else. The test takes a server off the switch: then the
 * system drops each packet between it and the other servers, in both directions, while clients reach them all. The test
 * can also let it drop those of one direction. It needs root, in a place where root may do that. Used by one thread at a
 * time.
 */
public final class ClusterNetwork implements AutoCloseable {

    /** The usual number of servers. They are counted from 0. */
    public static final int SERVERS = 3;

    /** The length of a packet of TCP without data, with the header of Ethernet; one that connects is longer. */
    private static final String ACKNOWLEDGEMENT = "66b";

    /** Only the namespaces know these addresses, so they may be the same in several such networks. */
    private static final String FIRST_PARTS = "10.214.0.";

    private final String bridge = "hfs" + Ports.reserve();
    private final List<NetworkNamespace> servers = new ArrayList<>();
    private final List<String> cables = new ArrayList<>();
    private @Nullable Runnable healing;

    /** One direction of the packets between a server and the others. */
    public enum Way {
        FROM_SERVER,
        TO_SERVER
    }

    /** Makes one of the usual size, or skips the test with a message where namespaces cannot be made. */
    public ClusterNetwork() {
        this(SERVERS);
    }

    /** The same of another size. */
    public ClusterNetwork(int size) {
        NetworkNamespace.require();
        boolean isComplete = false;
        try {
            NetworkNamespace.ip("link", "add", bridge, "type", "bridge");
            NetworkNamespace.ip("link", "set", bridge, "up");
            for (int i = 0; i < size; i++) {
                NetworkNamespace server = NetworkNamespace.make();
                servers.add(server);
                shortenAcknowledgements(server);
                cables.add(server.connect(bridge, addressAtTheSwitch(i)));
            }
            connectAll();
            requireDrops();
            isComplete = true;
        } catch (AssertionError refused) {
            NetworkNamespace.skip(refused);
        } finally {
            if (!isComplete) {
                close();
            }
        }
    }

    // One for a packet that was received twice would be longer than others.
    private static void shortenAcknowledgements(NetworkNamespace server) {
        List<String> command = new ArrayList<>(server.prefix());
        command.addAll(List.of("sh", "-c", "echo 0 >/proc/sys/net/ipv4/tcp_sack"));
        NetworkNamespace.run(command);
    }

    private static String addressAtTheSwitch(int server) {
        return FIRST_PARTS + (server + 1);
    }

    private void connectAll() {
        for (NetworkNamespace from : servers) {
            for (int to = 0; to < servers.size(); to++) {
                if (servers.get(to) != from) {
                    from.reach(servers.get(to), addressAtTheSwitch(to));
                }
            }
        }
    }

    /** The number of servers. */
    public int size() {
        return servers.size();
    }

    /** What stands before the command of a server. */
    public List<String> prefix(int server) {
        return servers.get(server).prefix();
    }

    /** The address at which this machine and the other servers find a server. */
    public String host(int server) {
        return servers.get(server).guest();
    }

    /** Cuts a server off from the others, until {@link #heal}; nobody else may be cut off. */
    public void cutOff(int server) {
        // Its cable stays in, so that neither end is notified.
        NetworkNamespace.ip("link", "set", cables.get(server), "nomaster");
        healing = () -> NetworkNamespace.ip("link", "set", cables.get(server), "master", bridge);
    }

    /**
     * Drops what passes one way between a server and the others, until {@link #heal}; nobody else may be cut off.
     *
     * @param acknowledgementsToo whether packets without data are dropped, too: then TCP soon sends nothing the other way
     *     either, for want of acknowledgements; else all that is sent the other way arrives on connections that there are
     */
    public void drop(int server, Way way, boolean acknowledgementsToo) {
        // This discipline drops what is longer than a burst.
        String burst = acknowledgementsToo ? "1b" : ACKNOWLEDGEMENT;
        queue(server, way, "add", "tbf", "rate", "10gbit", "limit", "10kb", "burst", burst);
        healing = () -> queue(server, way, "delete");
    }

    // Also that the system has the discipline.
    private void requireDrops() {
        drop(0, Way.FROM_SERVER, true);
        heal();
    }

    private void queue(int server, Way way, String action, String... discipline) {
        boolean isSent = way == Way.FROM_SERVER;
        List<String> command = new ArrayList<>(isSent ? prefix(server) : List.of());
        command.addAll(List.of("tc", "qdisc", action, "dev"));
        command.addAll(List.of(isSent ? NetworkNamespace.SECOND : cables.get(server), "root"));
        command.addAll(List.of(discipline));
        NetworkNamespace.run(command);
    }

    /** Lets everything pass again. */
    public void heal() {
        if (healing != null) {
            healing.run();
            healing = null;
        }
    }

    /** Removes it. The servers must have ended. */
    @Override
    public void close() {
        servers.forEach(NetworkNamespace::close);
        NetworkNamespace.ip("link", "delete", bridge);
    }
}
