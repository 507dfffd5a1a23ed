package dev.holdfast.quorum;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Which server each node of a quorum is in, as far as its answers have shown that. Thread-safe. */
final class NodeServers {

    private final Map<String, Node> known = new HashMap<>();

    /**
     * Notes the server that a node has answered from.
     *
     * @return the node that has answered from this server before, and from no other one since; null if there is none
     */
    synchronized @Nullable Node noted(Node node, String server) {
        Node first = known.get(server);
        if (first == node) {
            return null;
        }
        known.values().remove(node);
        if (first == null) {
            known.put(server, node);
        }
        return first;
    }
}
