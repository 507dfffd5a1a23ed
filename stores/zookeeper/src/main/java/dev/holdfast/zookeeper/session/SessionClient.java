package dev.holdfast.zookeeper.session;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.apache.zookeeper.AsyncCallback.Children2Callback;
import org.apache.zookeeper.AsyncCallback.Create2Callback;
import org.apache.zookeeper.AsyncCallback.MultiCallback;
import org.apache.zookeeper.AsyncCallback.VoidCallback;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.CreateOptions;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The requests of this store on one session. Each request is sent at once, without waiting for earlier replies. The
 * server executes and answers the requests of a session in the order in which they were sent. Several requests
 * therefore take only one round trip.
 *
 * <p>A stage never fails: the code of its reply says what went wrong. Stages complete on the client's event thread,
 * which also delivers the events of watches, in order. The requests of a free lock, and those of a wait, take a callback
 * instead: each step from one stage to the next is code that a young JVM interprets, and then compiles.
 */
public final class SessionClient {

    private static final byte[] EMPTY = {};

    private final ZooKeeper zooKeeper;
    private final boolean shared;

    /** @param shared whether others than this store may use the session, too */
    SessionClient(ZooKeeper zooKeeper, boolean shared) {
        this.zooKeeper = zooKeeper;
        this.shared = shared;
    }

    /** A node that was created. */
    public record Created(String path, Stat stat) {}

    /**
     * A node that was created, and what is known of its parent.
     *
     * @param zxid the transaction that made it
     * @param children how many children its parent had after that, with this one
     */
    public record Counted(String path, long zxid, int children) {}

    /** The data of a node, as text. */
    public record Data(String text, Stat stat) {}

    @SuppressWarnings("ReferenceEquality") // each client object is a session of its own, whatever equals() returns
    boolean isOf(ZooKeeper other) {
        return zooKeeper == other;
    }

    public long session() {
        return zooKeeper.getSessionId();
    }

    /** The time-out that the server granted, in milliseconds; 0 before the first connection. */
    int timeoutMillis() {
        return zooKeeper.getSessionTimeout();
    }

    public CompletionStage<Reply<Created>> create(String path, byte[] data, List<ACL> acl, CreateMode mode) {
        CompletableFuture<Reply<Created>> reply = new CompletableFuture<>();
        zooKeeper.create(
                path,
                data,
                acl,
                mode,
                (code, requestPath, context, made, stat) ->
                        reply.complete(Reply.of(code, made == null ? null : new Created(made, stat), requestPath)),
                null);
        return reply;
    }

    /** Creates an ephemeral sequential node; the reply goes straight to the callback, on the client's event thread. */
    public void createInOrder(String path, byte[] data, List<ACL> acl, Create2Callback callback) {
        zooKeeper.create(path, data, acl, CreateMode.EPHEMERAL_SEQUENTIAL, callback, null);
    }

    /**
     * Creates an ephemeral sequential node, and sets the data of its parent to none in the same transaction. Nothing else makes a
     * server report how many children the parent has at that moment: {@link #counted} reads it from the results. They go straight
     * to the callback, on the client's event thread.
     *
     * @param prefix the name of the node without the sequence
     */
    public void createAndCount(String parent, String prefix, byte[] data, List<ACL> acl, MultiCallback callback) {
        zooKeeper.multi(
                List.of(
                        Op.create(parent + '/' + prefix, data, acl, CreateMode.EPHEMERAL_SEQUENTIAL),
                        Op.setData(parent, EMPTY, -1)),
                callback,
                null);
    }

    /** The results of {@link #createAndCount}, if it did not fail. */
    public static Counted counted(String parent, List<OpResult> results) {
        String path = pathOf(parent, (OpResult.CreateResult) results.get(0));
        Stat stat = ((OpResult.SetDataResult) results.get(1)).getStat();
        return new Counted(path, stat.getMzxid(), stat.getNumChildren());
    }

    /** Lists the children of a node; the reply goes straight to the callback, on the client's event thread. */
    public void list(String path, Children2Callback callback) {
        zooKeeper.getChildren(path, null, callback, null);
    }

    /** Deletes a node; the reply goes straight to the callback, on the client's event thread. */
    public void delete(String path, VoidCallback callback) {
        zooKeeper.delete(path, -1, callback, null);
    }

    /**
     * Creates several sequential ephemeral nodes, all or none.
     *
     * @param nodes their paths without the sequence, and their data
     * @return the created nodes, in the same order
     */
    public CompletionStage<Reply<List<Created>>> createAll(Map<String, byte[]> nodes, List<ACL> acl) {
        CreateOptions options =
                CreateOptions.newBuilder(acl, CreateMode.EPHEMERAL_SEQUENTIAL).build();
        List<Op> operations = new ArrayList<>(nodes.size());
        nodes.forEach((path, data) -> operations.add(Op.create(path, data, options)));
        String about = nodes.keySet().iterator().next() + " and others";
        CompletableFuture<Reply<List<Created>>> reply = new CompletableFuture<>();
        zooKeeper.multi(
                operations,
                (code, requestPath, context, results) -> {
                    try {
                        reply.complete(Reply.of(code, created(code, nodes.keySet(), results), about));
                    } catch (RuntimeException | Error failure) {
                        // The client's event thread would drop it.
                        reply.completeExceptionally(failure);
                    }
                },
                null);
        return reply.thenCompose(this::withStats);
    }

    // Servers before 3.7 answer a multi with paths only, and so do all to a client with a chroot. The state of one
    // node is enough, because one transaction has made them all.
    private CompletionStage<Reply<List<Created>>> withStats(Reply<List<Created>> reply) {
        if (!reply.isOk() || hasStats(reply.get())) {
            return CompletableFuture.completedStage(reply);
        }
        return stat(reply.get().get(0).path())
                .thenApply(stat -> stat.isOk()
                        ? reply.map(nodes -> nodes.stream()
                                .map(node -> new Created(node.path(), stat.get()))
                                .toList())
                        // The nodes were made, and what became of them is not known.
                        : new Reply<>(Code.CONNECTIONLOSS, null, reply.about()));
    }

    private static boolean hasStats(List<Created> nodes) {
        return nodes.stream().noneMatch(node -> node.stat() == null);
    }

    private static @Nullable List<Created> created(int code, Set<String> requested, @Nullable List<OpResult> results) {
        if (code != Code.OK.intValue() || results == null) {
            return null;
        }
        List<Created> made = new ArrayList<>(results.size());
        Iterator<String> paths = requested.iterator();
        for (OpResult result : results) {
            OpResult.CreateResult one = (OpResult.CreateResult) result;
            String path = paths.next();
            made.add(new Created(pathOf(path.substring(0, path.lastIndexOf('/')), one), one.getStat()));
        }
        return made;
    }

    // The path that a multi reports begins with the chroot of the client, which the client does not remove.
    private static String pathOf(String parent, OpResult.CreateResult result) {
        return parent + result.getPath().substring(result.getPath().lastIndexOf('/'));
    }

    /** Deletes several nodes, all or none. */
    public CompletionStage<Reply<String>> deleteAll(List<String> paths) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        String about = paths.get(0) + " and others";
        zooKeeper.multi(
                paths.stream().map(path -> Op.delete(path, -1)).toList(),
                (code, requestPath, context, results) -> reply.complete(Reply.of(code, about, about)),
                null);
        return reply;
    }

    /** Creates a node without data, which is the parent of other nodes. */
    public CompletionStage<Reply<Created>> createParent(String path, List<ACL> acl, CreateMode mode) {
        return create(path, EMPTY, acl, mode);
    }

    public CompletionStage<Reply<List<String>>> children(String path) {
        return children(path, null);
    }

    public CompletionStage<Reply<List<String>>> children(String path, @Nullable Watcher watcher) {
        CompletableFuture<Reply<List<String>>> reply = new CompletableFuture<>();
        zooKeeper.getChildren(
                path,
                watcher,
                (int code, String requestPath, Object context, List<String> children) ->
                        reply.complete(Reply.of(code, children, requestPath)),
                null);
        return reply;
    }

    public CompletionStage<Reply<Data>> data(String path, @Nullable Watcher watcher) {
        CompletableFuture<Reply<Data>> reply = new CompletableFuture<>();
        data(path, watcher, reply::complete);
        return reply;
    }

    /** Reads a node; the reply goes straight to the receiver, on the client's event thread. */
    public void data(String path, @Nullable Watcher watcher, Consumer<Reply<Data>> then) {
        zooKeeper.getData(
                path,
                watcher,
                (code, requestPath, context, bytes, stat) ->
                        then.accept(Reply.of(code, stat == null ? null : new Data(text(bytes), stat), requestPath)),
                null);
    }

    private static String text(byte @Nullable [] bytes) {
        return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * Removes a watch on the data of a node, in the background. A server forgets only all watches of a session on a node
     * together, so it still sends its next event if others use the session, too; the client then ignores it.
     */
    public void unwatch(String path, Watcher watcher) {
        VoidCallback ignored = (code, requestPath, context) -> {};
        if (shared) {
            zooKeeper.removeWatches(path, watcher, WatcherType.Data, true, ignored, null);
        } else {
            zooKeeper.removeAllWatches(path, WatcherType.Data, true, ignored, null);
        }
    }

    /**
     * Breaks the connection, so that the client connects to another server. The session goes on; requests that are under way
     * fail with an unknown effect.
     */
    void disconnect() {
        try {
            // The only way that the client offers, whatever its name.
            zooKeeper.getTestable().closeSocket();
        } catch (IOException closed) {
            return;
        }
        // The client notices when it has something to send.
        stat("/");
    }

    public CompletionStage<Reply<Stat>> stat(String path) {
        CompletableFuture<Reply<Stat>> reply = new CompletableFuture<>();
        zooKeeper.exists(
                path,
                false,
                (code, requestPath, context, stat) -> reply.complete(Reply.of(code, stat, requestPath)),
                null);
        return reply;
    }

    public CompletionStage<Reply<Stat>> setData(String path, byte[] data) {
        CompletableFuture<Reply<Stat>> reply = new CompletableFuture<>();
        zooKeeper.setData(
                path,
                data,
                -1,
                (code, requestPath, context, stat) -> reply.complete(Reply.of(code, stat, requestPath)),
                null);
        return reply;
    }

    public CompletionStage<Reply<String>> delete(String path) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.delete(
                path,
                -1,
                (code, requestPath, context) -> reply.complete(Reply.of(code, requestPath, requestPath)),
                null);
        return reply;
    }

    /**
     * Has a majority of the servers agree to a transaction that changes nothing. So the session was alive when the
     * transaction was made, and later reads on this session see at least the state of that time. A sync would show less: a
     * leader answers those of its own clients without asking anybody, also when the others have elected another one.
     *
     * @param path a node to check, which may be missing; the reply says so then. A session that may not read it is
     *     confirmed, too: the majority agrees to the refusal
     */
    public CompletionStage<Reply<String>> confirm(String path) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.multi(
                List.of(Op.check(path, -1)),
                (code, requestPath, context, results) -> reply.complete(
                        Reply.of(code == Code.NOAUTH.intValue() ? Code.OK.intValue() : code, path, path)),
                null);
        return reply;
    }

    /** Syncs with the leader. Later reads on this session see what the leader knew then, which may have been deposed. */
    public CompletionStage<Reply<String>> sync(String path) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.sync(
                path, (code, requestPath, context) -> reply.complete(Reply.of(code, requestPath, requestPath)), null);
        return reply;
    }

    /** Creates one node and deletes another, both or neither. */
    public CompletionStage<Reply<String>> replace(String old, String replacement, byte[] data, List<ACL> acl) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.multi(
                List.of(Op.create(replacement, data, acl, CreateMode.EPHEMERAL), Op.delete(old, -1)),
                (code, requestPath, context, results) -> reply.complete(new Reply<>(Code.get(code), replacement, old)),
                null);
        return reply;
    }
}
