package dev.holdfast.zookeeper.session;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.CreateOptions;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The requests of this store on one session. All are sent at once and without waiting, and a session's requests take effect
 * and are answered in the order in which they were sent: that is what makes one round trip of several.
 *
 * <p>A stage never fails: what went wrong is the code of its reply. Stages are completed on the client's event thread, which
 * also brings the events of watches, in order.
 */
public final class SessionClient {

    private static final byte[] EMPTY = {};

    private final ZooKeeper zooKeeper;

    SessionClient(ZooKeeper zooKeeper) {
        this.zooKeeper = zooKeeper;
    }

    /** A node that was made. */
    public record Created(String path, Stat stat) {}

    /** What a node holds, as text. */
    public record Data(String text, Stat stat) {}

    @SuppressWarnings("ReferenceEquality") // a client object is a session, however equal it may say that it is
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
                (code, asked, context, made, stat) ->
                        reply.complete(Reply.of(code, made == null ? null : new Created(made, stat), asked)),
                null);
        return reply;
    }

    /**
     * Makes several sequential ephemeral nodes, all or none.
     *
     * @param nodes the beginnings of their paths, and what they hold
     * @return what was made, in the same order
     */
    public CompletionStage<Reply<List<Created>>> createAll(Map<String, byte[]> nodes, List<ACL> acl) {
        CreateOptions options =
                CreateOptions.newBuilder(acl, CreateMode.EPHEMERAL_SEQUENTIAL).build();
        List<Op> operations = new ArrayList<>(nodes.size());
        nodes.forEach((path, data) -> operations.add(Op.create(path, data, options)));
        CompletableFuture<Reply<List<Created>>> reply = new CompletableFuture<>();
        zooKeeper.multi(
                operations,
                (code, asked, context, results) -> reply.complete(Reply.of(
                        code, created(code, results), nodes.keySet().iterator().next() + " and others")),
                null);
        return reply;
    }

    private static @Nullable List<Created> created(int code, @Nullable List<OpResult> results) {
        if (code != Code.OK.intValue() || results == null) {
            return null;
        }
        return results.stream()
                .map(OpResult.CreateResult.class::cast)
                .map(result -> new Created(result.getPath(), result.getStat()))
                .toList();
    }

    /** Deletes several nodes, all or none. */
    public CompletionStage<Reply<String>> deleteAll(List<String> paths) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        String about = paths.get(0) + " and others";
        zooKeeper.multi(
                paths.stream().map(path -> Op.delete(path, -1)).toList(),
                (code, asked, context, results) -> reply.complete(Reply.of(code, about, about)),
                null);
        return reply;
    }

    /** Makes a folder. */
    public CompletionStage<Reply<Created>> createFolder(String path, List<ACL> acl, CreateMode mode) {
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
                (int code, String asked, Object context, List<String> children) ->
                        reply.complete(Reply.of(code, children, asked)),
                null);
        return reply;
    }

    public CompletionStage<Reply<Data>> data(String path, @Nullable Watcher watcher) {
        CompletableFuture<Reply<Data>> reply = new CompletableFuture<>();
        zooKeeper.getData(
                path,
                watcher,
                (code, asked, context, bytes, stat) ->
                        reply.complete(Reply.of(code, stat == null ? null : new Data(text(bytes), stat), asked)),
                null);
        return reply;
    }

    private static String text(byte @Nullable [] bytes) {
        return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    }

    public CompletionStage<Reply<Stat>> stat(String path, @Nullable Watcher watcher) {
        CompletableFuture<Reply<Stat>> reply = new CompletableFuture<>();
        zooKeeper.exists(
                path, watcher, (code, asked, context, stat) -> reply.complete(Reply.of(code, stat, asked)), null);
        return reply;
    }

    public CompletionStage<Reply<Stat>> setData(String path, byte[] data) {
        CompletableFuture<Reply<Stat>> reply = new CompletableFuture<>();
        zooKeeper.setData(
                path, data, -1, (code, asked, context, stat) -> reply.complete(Reply.of(code, stat, asked)), null);
        return reply;
    }

    public CompletionStage<Reply<String>> delete(String path) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.delete(path, -1, (code, asked, context) -> reply.complete(Reply.of(code, asked, asked)), null);
        return reply;
    }

    /** The ephemeral nodes of this session whose paths begin so, wherever they are. Servers before 3.6 do not know this. */
    CompletionStage<Reply<List<String>>> ownNodes(String beginning) {
        CompletableFuture<Reply<List<String>>> reply = new CompletableFuture<>();
        zooKeeper.getEphemerals(
                beginning, (code, context, paths) -> reply.complete(Reply.of(code, paths, beginning)), null);
        return reply;
    }

    /** Answered by the leader; what is read after it on this session is not older than its sending. */
    public CompletionStage<Reply<String>> sync(String path) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.sync(path, (code, asked, context) -> reply.complete(Reply.of(code, asked, asked)), null);
        return reply;
    }

    /** Makes one node and deletes another, both or neither. */
    public CompletionStage<Reply<String>> replace(String old, String replacement, byte[] data, List<ACL> acl) {
        CompletableFuture<Reply<String>> reply = new CompletableFuture<>();
        zooKeeper.multi(
                List.of(Op.create(replacement, data, acl, CreateMode.EPHEMERAL), Op.delete(old, -1)),
                (code, asked, context, results) -> reply.complete(new Reply<>(Code.get(code), replacement, old)),
                null);
        return reply;
    }
}
