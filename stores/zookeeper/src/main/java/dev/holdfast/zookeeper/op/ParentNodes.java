package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.StoreException;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;

/**
 * Creates the parent nodes of locks, and the root above them. The parent nodes are containers, which the server
 * deletes some time after they have become empty. Any request may therefore find its parent node deleted, and must
 * create it again. Thread-safe.
 */
public final class ParentNodes {

    /** The maximum number of parent nodes that are remembered as existing. When it is reached, all are forgotten. */
    private static final int MAX_KNOWN = 10_000;

    private final StoreContext context;
    private final Set<String> known = ConcurrentHashMap.newKeySet();
    private volatile CreateMode mode = CreateMode.CONTAINER;

    public ParentNodes(StoreContext context) {
        this.context = context;
    }

    /**
     * Sends the create of a parent node, unless the node is known to exist. The result is not returned, because the
     * next request, which is sent in the same round trip, fails if the parent node is missing.
     */
    void create(SessionClient client, String parent, int tries) {
        if (tries == 0 && known.contains(parent)) {
            return;
        }
        client.createParent(parent, context.acl(), mode).thenAccept(reply -> {
            if (reply.isOk() || reply.code() == Code.NODEEXISTS) {
                if (known.size() >= MAX_KNOWN) {
                    known.clear();
                }
                known.add(parent);
            } else if (reply.code() == Code.UNIMPLEMENTED) {
                // A server before 3.5 has no containers, so parent nodes on it are never deleted.
                mode = CreateMode.PERSISTENT;
            }
        });
    }

    void forget(String parent) {
        known.remove(parent);
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
