package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.StoreException;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;

/**
 * Creates the parent nodes of locks, and the root above them. The parent nodes are containers, which the server
 * deletes some time after they have become empty. Any request may therefore find its parent node deleted, and must
 * create it again. Thread-safe.
 */
public final class ParentNodes {

    /** The maximum number of parent nodes that are remembered as existing. When it is reached, all are forgotten. */
    private static final int MAX_KNOWN = 10_000;

    private final StoreContext context;
    /** Those that exist, and whether a claim that joins one probably finds it empty; see {@link #isProbablyEmpty}. */
    private final Map<String, Boolean> known = new ConcurrentHashMap<>();

    private volatile boolean mayWrite = true;
    private volatile CreateMode mode = CreateMode.CONTAINER;

    public ParentNodes(StoreContext context) {
        this.context = context;
    }

    /**
     * Sends the create of a parent node, unless the node is known to exist. The result is not returned, because the
     * next request, which is sent in the same round trip, fails if the parent node is missing.
     */
    void create(SessionClient client, String parent, int tries) {
        if (tries == 0 && known.containsKey(parent)) {
            return;
        }
        client.createParent(parent, context.acl(), mode).thenAccept(reply -> {
            if (reply.isOk() || reply.code() == Code.NODEEXISTS) {
                if (known.size() >= MAX_KNOWN) {
                    known.clear();
                }
                known.putIfAbsent(parent, false);
            } else if (reply.code() == Code.UNIMPLEMENTED) {
                // A server before 3.5 has no containers, so parent nodes on it are never deleted.
                mode = CreateMode.PERSISTENT;
            }
        });
    }

    void forget(String parent) {
        known.remove(parent);
    }

    /**
     * Whether this client has found a parent node without any other child, and without data, when it last looked. A claim that
     * joins it then probably holds at once, and may have its siblings counted, which clears the data of the parent node.
     */
    boolean isProbablyEmpty(String parent) {
        return mayWrite && known.getOrDefault(parent, false);
    }

    /** Records what the list of a parent node has shown. */
    void listed(String parent, int children, Stat stat) {
        boolean empty = children <= 1 && stat.getDataLength() == 0;
        Boolean before = known.get(parent);
        if (before != null && before != empty) {
            known.replace(parent, empty);
        }
    }

    /** Records that a claim that has joined a parent node has siblings. */
    void hasOthers(String parent) {
        known.replace(parent, false);
    }

    /** Records that this client has no right to change a parent node. It then counts no siblings any more. */
    void mayNotWrite() {
        mayWrite = false;
    }

    /** Creates the root and the nodes above it where they are missing. They are persistent. */
    CompletionStage<Reply<SessionClient.Created>> createRoot(SessionClient client) {
        return createFrom(client, context.paths().rootAndAbove(), 0);
    }

    private CompletionStage<Reply<SessionClient.Created>> createFrom(
            SessionClient client, List<String> paths, int from) {
        if (from >= paths.size()) {
            return CompletableFuture.completedStage(
                    new Reply<>(Code.OK, null, context.paths().root()));
        }
        String path = paths.get(from);
        // Checks first whether the node exists: a client without the right to create it may use an existing one.
        return client.stat(path).thenCompose(existing -> {
            if (existing.isOk()) {
                return createFrom(client, paths, from + 1);
            }
            if (!existing.isMissing()) {
                throw existing.failure();
            }
            return client.createParent(path, context.acl(), CreateMode.PERSISTENT)
                    .thenCompose(made -> {
                        if (!made.isOk() && made.code() != Code.NODEEXISTS) {
                            StoreException cause = made.failure();
                            throw cause;
                        }
                        return createFrom(client, paths, from + 1);
                    });
        });
    }
}
