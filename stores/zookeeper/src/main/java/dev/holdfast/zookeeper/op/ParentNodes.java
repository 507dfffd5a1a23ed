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

    /** What this client has found in a parent node that exists, when it last looked. */
    private enum Found {
        /** No child but the one that has looked, and no data. */
        NOTHING,
        /** Others, or data; or it has not looked yet. */
        MORE,
        /** That it may not write the data. */
        NO_RIGHT
    }

    private final StoreContext context;
    private final Map<String, Found> known = new ConcurrentHashMap<>();
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
            // A client without the right to create it uses one that somebody else has made.
            if (reply.isOk() || reply.code() == Code.NODEEXISTS || reply.code() == Code.NOAUTH) {
                if (known.size() >= MAX_KNOWN) {
                    known.clear();
                }
                known.putIfAbsent(parent, Found.MORE);
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
     * Whether a claim that joins a parent node is probably alone, so that its siblings may be counted, which clears the data of the
     * parent node. True if this client found neither another child nor data there when it last looked.
     */
    boolean isProbablyEmpty(String parent) {
        return known.get(parent) == Found.NOTHING;
    }

    /** Records what the list of a parent node has shown. */
    void listed(String parent, int children, Stat stat) {
        Found found = children <= 1 && stat.getDataLength() == 0 ? Found.NOTHING : Found.MORE;
        Found before = known.get(parent);
        if (before != null && before != found && before != Found.NO_RIGHT) {
            known.replace(parent, before, found);
        }
    }

    /** Records that siblings cannot be counted below a parent node, because this client may not write it. */
    void mayNotWrite(String parent) {
        known.replace(parent, Found.NO_RIGHT);
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
