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
 * Makes the folders of locks, and the root above them. The folders are containers, which the server removes some time after
 * they have become empty; so any request may find its folder gone, and must make it again. Thread-safe.
 */
public final class ParentNodes {

    /** So many folders are known to be there; then it begins to learn them anew. */
    private static final int MOST_KNOWN = 10_000;

    private final StoreContext site;
    private final Set<String> known = ConcurrentHashMap.newKeySet();
    private volatile CreateMode mode = CreateMode.CONTAINER;

    public ParentNodes(StoreContext site) {
        this.site = site;
    }

    /**
     * Sends what makes a folder, unless it is known to be there. What comes of it is seen by the request behind it, which
     * travels in the same round trip.
     */
    void make(SessionClient handle, String folder, int tries) {
        if (tries == 0 && known.contains(folder)) {
            return;
        }
        handle.createFolder(folder, site.acl(), mode).thenAccept(reply -> {
            if (reply.isOk() || reply.code() == Code.NODEEXISTS) {
                if (known.size() >= MOST_KNOWN) {
                    known.clear();
                }
                known.add(folder);
            } else if (reply.code() == Code.UNIMPLEMENTED) {
                mode = CreateMode.PERSISTENT; // a server before 3.5: its folders stay
            }
        });
    }

    void isGone(String folder) {
        known.remove(folder);
    }

    /** Makes the root and what is above it, where they are missing. They stay. */
    CompletionStage<Reply<SessionClient.Created>> makeRoot(SessionClient handle) {
        return makeFrom(handle, site.paths().rootAndAbove(), 0);
    }

    private CompletionStage<Reply<SessionClient.Created>> makeFrom(SessionClient handle, List<String> paths, int from) {
        if (from >= paths.size()) {
            return CompletableFuture.completedStage(
                    new Reply<>(Code.OK, null, site.paths().root()));
        }
        String path = paths.get(from);
        // Looked for first: who may not make a folder at the top may well use one that is there.
        return handle.stat(path, null).thenCompose(there -> {
            if (there.isOk()) {
                return makeFrom(handle, paths, from + 1);
            }
            if (!there.isMissing()) {
                throw there.failure();
            }
            return handle.createFolder(path, site.acl(), CreateMode.PERSISTENT).thenCompose(made -> {
                if (!made.isOk() && made.code() != Code.NODEEXISTS) {
                    StoreException cause = made.failure();
                    throw cause;
                }
                return makeFrom(handle, paths, from + 1);
            });
        });
    }
}
