package dev.holdfast.testkit.process;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A network for the three servers of one cluster, each of which has two cables: one to this machine, for its clients,
 * and one to a switch, which leads to the other servers and nowhere else. The test takes a server off the switch: then
 * the system drops each packet between it and the other servers, in both directions, while clients reach them all. It
 * needs root, in a place where root may do that. Used by one thread at a time.
 */
public final class ClusterNetwork implements AutoCloseable {

    /** The number of servers, which are counted from 0. */
    public static final int SERVERS = 3;

    /** Only the namespaces know these addresses, so they may be the same in several such networks. */
    private static final String FIRST_PARTS = "10.214.0.";

    private final String bridge = "hfs" + Ports.reserve();
    private final List<NetworkNamespace> servers = new ArrayList<>();
    private final List<String> cables = new ArrayList<>();
    private @Nullable String cutOff;

    /** Makes one, or skips the test with a message where namespaces cannot be made. */
    public ClusterNetwork() {
        NetworkNamespace.require();
        boolean isComplete = false;
        try {
            NetworkNamespace.ip("link", "add", bridge, "type", "bridge");
            NetworkNamespace.ip("link", "set", bridge, "up");
            for (int i = 0; i < SERVERS; i++) {
                NetworkNamespace server = NetworkNamespace.make();
                servers.add(server);
                cables.add(server.connect(bridge, addressAtTheSwitch(i)));
            }
            connectAll();
            isComplete = true;
        } finally {
            if (!isComplete) {
                close();
            }
        }
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
        cutOff = cables.get(server);
        // Its cable stays in, so that neither end is notified.
        NetworkNamespace.ip("link", "set", cutOff, "nomaster");
    }

    /** Connects the server again that is cut off. */
    public void heal() {
        if (cutOff != null) {
            NetworkNamespace.ip("link", "set", cutOff, "master", bridge);
            cutOff = null;
        }
    }

    /** Removes it. The servers must have ended. */
    @Override
    public void close() {
        servers.forEach(NetworkNamespace::close);
        NetworkNamespace.ip("link", "delete", bridge);
    }
}
