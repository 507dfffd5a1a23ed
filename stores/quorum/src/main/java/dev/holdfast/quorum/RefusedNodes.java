package dev.holdfast.quorum;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreTraits.NodeRole;
import java.util.List;
import java.util.stream.Collectors;

/** The stores that cannot be nodes of a quorum, and why. Stateless. */
final class RefusedNodes {

    private RefusedNodes() {}

    /**
     * Refuses stores of which some cannot be nodes.
     *
     * @throws IllegalArgumentException if there are such; the message names each of them, and its reason
     */
    static void check(List<LockStore> stores) {
        List<LockStore> refused = stores.stream()
                .filter(store -> store.traits().node() == NodeRole.NONE)
                .toList();
        if (!refused.isEmpty()) {
            throw new IllegalArgumentException("A quorum cannot have these nodes: "
                    + refused.stream()
                            .map(store ->
                                    store + ", because " + reason(store.traits().product()))
                            .collect(Collectors.joining("; "))
                    + ". Use single Redis servers, single PostgreSQL servers, and stores in memory");
        }
    }

    private static String reason(String product) {
        return switch (product) {
            case "zookeeper", "etcd" ->
                "it is replicated by a majority itself, and numbers grants by its transactions, so that it cannot agree with"
                        + " others on counters";
            case "memcached" -> "its data may be flushed or evicted, and no answer shows that";
            case "redis" -> "a cluster moves its data between servers, so that no answer shows whether some were lost";
            case "postgresql" ->
                "its URL names several servers, so that two of them could vote for one node, for two majorities: name one server"
                        + " in it";
            case "quorum" -> "it has nodes of its own; name those";
            default ->
                product.startsWith("redis") || product.equals("tair")
                        ? "what it keeps has no counters on which nodes could agree; only the layout of Holdfast's own has"
                        : "it does not show since when it has kept its data, so that it might grant a lock anew that it has"
                                + " forgotten";
        };
    }
}
