package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.sequenced.SequencedQueue;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.claim.OneShotListener;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.apache.zookeeper.AsyncCallback.Create2Callback;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Acquires a claim: creates its node and lists the children of the parent node. Both requests are sent back to back
 * on one session, so they take one round trip, unless many claims of this client join one queue at the same time. The list
 * shows whether the claim holds.
 *
 * <p>A lock that was free when this client last looked is probably free again. Then the transaction that creates the node also
 * counts the children of the parent node, and only if there are others the list follows, in a second round trip. A claim that
 * may not wait has its list at once, as it is promised an answer in one round trip.
 *
 * <p>A claim that was sent before is first searched, in what a majority has confirmed, by its id in the node's name.
 */
public final class Acquire {

    /**
     * The maximum number of retries of a create whose parent node is missing: the server may delete an idle one
     * repeatedly.
     */
    private static final int MAX_CREATE_RETRIES = 4;

    /** The maximum number of searches for a claim whose nodes change in the meantime. */
    private static final int MAX_SEARCHES = 4;

    /** The claim was released before. */
    static final Renewed RELEASED = new Renewed.Gone(Renewed.Reason.RELEASED);

    /** The claim was searched, and has no node. */
    static final Renewed ABSENT = new Renewed.Gone(Renewed.Reason.EXPIRED);

    private final StoreContext context;
    private final PredecessorWatch predecessorWatch;
    private final ParentNodes parentNodes;
    private final QueueLists queueLists;

    /**
     * What to do for a claim.
     *
     * @param listener the listener of a claim that may wait; null to leave no node if it cannot hold at once
     * @param searchOnly whether the claim is only searched, and neither created nor shrunk
     */
    private record Request(Claim claim, @Nullable OneShotListener listener, boolean searchOnly) {}

    public Acquire(
            StoreContext context, PredecessorWatch predecessorWatch, ParentNodes parentNodes, QueueLists queueLists) {
        this.context = context;
        this.predecessorWatch = predecessorWatch;
        this.parentNodes = parentNodes;
        this.queueLists = queueLists;
    }

    /**
     * Acquires a claim or puts it into the queue.
     *
     * @param listener the listener of a claim that may wait; null to leave no node if it cannot hold at once
     * @return held; waiting (without a listener: no node is left); or gone if the claim was released before
     */
    public CompletionStage<Renewed> acquire(Claim claim, @Nullable OneShotListener listener) {
        CompletableFuture<Renewed> answer = new CompletableFuture<>();
        acquire(claim, listener, completing(answer));
        return answer;
    }

    /** The same; the answer goes straight to whoever receives it, on the client's event thread. */
    public void acquire(Claim claim, @Nullable OneShotListener listener, BiConsumer<Renewed, Throwable> answer) {
        SessionClient client = context.sessions().current();
        Request request = new Request(claim, listener, false);
        if (claim.repeated() || context.claims().find(claim.id()) != null) {
            search(client, request, 0).whenComplete(answer);
        } else if (context.claims().hasTombstone(claim.id())) {
            answer.accept(RELEASED, null);
        } else {
            send(client, request, 0, answer);
        }
    }

    private static <T> BiConsumer<T, Throwable> completing(CompletableFuture<T> future) {
        return (value, failure) -> {
            if (failure == null) {
                future.complete(value);
            } else {
                future.completeExceptionally(failure);
            }
        };
    }

    /**
     * Searches a claim that may have been sent before.
     *
     * @return held, waiting (without a listener: its node is deleted), released, or {@link #ABSENT}
     */
    CompletionStage<Renewed> find(SessionClient client, Claim claim) {
        return search(client, new Request(claim, null, true), 0);
    }

    private CompletionStage<Renewed> send(SessionClient client, Request request, int tries) {
        CompletableFuture<Renewed> answer = new CompletableFuture<>();
        send(client, request, tries, completing(answer));
        return answer;
    }

    private void send(SessionClient client, Request request, int tries, BiConsumer<Renewed, Throwable> answer) {
        Claim claim = request.claim();
        String parent = context.paths().parent(claim.name());
        ClaimState claimState = new ClaimState(claim, parent, request.listener());
        if (context.claims().add(claimState) != null) {
            search(client, request, tries).whenComplete(answer);
            return;
        }
        parentNodes.create(client, parent, tries);
        FirstRequests requests = new FirstRequests(client, claimState, NodeName.prefix(claim), tries, answer);
        if (request.listener() != null && parentNodes.isProbablyEmpty(parent)) {
            requests.createAndCount();
        } else {
            requests.createAndList();
        }
    }

    /**
     * The create of a new claim and the list that shows its place, which are under way. Either both are sent at once, or the list
     * follows if the create has not shown that the claim is alone. So the reply to the list comes after that to the create, unless
     * the client is closing: then it fails at once.
     */
    private final class FirstRequests implements Create2Callback, QueueLists.Listener {

        private final SessionClient client;
        private final ClaimState claimState;
        private final String prefix;
        private final int tries;
        private final BiConsumer<Renewed, Throwable> answer;
        private @Nullable Reply<Long> creation;
        /** The path of the node that was made. */
        private @Nullable String made;
        /** What that says; null until it was asked for. */
        private @Nullable NodeName own;

        private FirstRequests(
                SessionClient client,
                ClaimState claimState,
                String prefix,
                int tries,
                BiConsumer<Renewed, Throwable> answer) {
            this.client = client;
            this.claimState = claimState;
            this.prefix = prefix;
            this.tries = tries;
            this.answer = answer;
        }

        @Override
        public void processResult(int code, String path, Object unused, @Nullable String name, @Nullable Stat stat) {
            // The client's event thread drops what is thrown here, so the name is read later.
            creation = Reply.of(code, stat == null ? null : stat.getCzxid(), path);
            made = name;
        }

        private void createAndList() {
            client.createInOrder(claimState.parent() + '/' + prefix, data(), context.acl(), this);
            queueLists.list(client, claimState.parent(), this);
        }

        private void createAndCount() {
            client.createAndCount(
                    claimState.parent(), prefix, data(), context.acl(), (code, noPath, unused, results) -> {
                        try {
                            counted(code, results);
                        } catch (RuntimeException | Error failure) {
                            failed(failure);
                        }
                    });
        }

        private byte[] data() {
            return NodeData.of(claimState.claim()).bytes();
        }

        private void counted(int code, @Nullable List<OpResult> results) {
            String parent = claimState.parent();
            if (code == Code.NOAUTH.intValue()) {
                parentNodes.mayNotWrite(parent);
                createAndList();
                return;
            }
            SessionClient.Counted node = code == 0 && results != null ? SessionClient.counted(parent, results) : null;
            creation = Reply.of(code, node == null ? null : node.zxid(), parent);
            made = node == null ? null : node.path();
            if (node != null && node.children() > 1) {
                queueLists.list(client, parent, this);
            } else {
                listed(Reply.of(code, node == null ? null : AdmissionQueue.ofOne(requireOwn()), parent));
            }
        }

        @Override
        public @Nullable NodeName own() {
            String name = made;
            if (own == null && name != null) {
                own = NodeName.created(
                        claimState.claim(),
                        prefix,
                        name.substring(claimState.parent().length() + 1));
            }
            return own;
        }

        @Override
        public void listed(Reply<AdmissionQueue> list) {
            Reply<Long> created = creation;
            if (created == null) {
                throw unknown(list.failure());
            } else if (created.isMissing()) {
                sendAgain(created);
            } else {
                recordNode(created);
                if (!list.isOk()) {
                    throw unknown(list.failure());
                }
                Renewed place = evaluate(client, claimState, list.get());
                if (mustLeave(claimState, place)) {
                    leave(client, claimState, place).whenComplete(answer);
                } else {
                    answer.accept(place, null);
                }
            }
        }

        @Override
        public void failed(Throwable cause) {
            answer.accept(null, cause);
        }

        private void sendAgain(Reply<Long> created) {
            parentNodes.forget(claimState.parent());
            context.claims().remove(claimState);
            if (tries >= MAX_CREATE_RETRIES) {
                throw created.failure();
            }
            Request request = new Request(claimState.claim(), claimState.listener(), false);
            if (tries == 0) {
                send(client, request, 1, answer);
            } else {
                parentNodes
                        .createRoot(client)
                        .thenCompose(root -> send(client, request, tries + 1))
                        .whenComplete(answer);
            }
        }

        private void recordNode(Reply<Long> created) {
            if (!created.isOk()) {
                StoreException failure = created.failure();
                if (failure.effect() == Effect.NONE) {
                    context.claims().remove(claimState);
                }
                throw failure;
            }
            claimState.setNode(requireOwn(), Objects.requireNonNull(made), client.session(), created.get());
        }

        private NodeName requireOwn() {
            NodeName node = own();
            if (node == null) {
                throw StoreException.unavailable(
                        Effect.UNKNOWN, "ZooKeeper created a node with another name: " + made, null);
            }
            return node;
        }
    }

    // The node may be there.
    private static StoreException unknown(StoreException cause) {
        return StoreException.unavailable(Effect.UNKNOWN, String.valueOf(cause.getMessage()), cause);
    }

    // Decides from the list whether a claim whose node is known holds, waits or ends. One that waits and must
    // not is left to the caller.
    private Renewed evaluate(SessionClient client, ClaimState claimState, AdmissionQueue queue) {
        NodeName own = claimState.node();
        int index = own == null ? -1 : queue.indexOf(own);
        if (own == null || index < 0) {
            context.claims().remove(claimState);
            return RELEASED;
        }
        if (context.claims().hasTombstone(claimState.id())) {
            discard(client, claimState);
            return RELEASED;
        }
        try {
            requireSameUse(claimState, queue, index);
        } catch (StoreException otherUse) {
            discard(client, claimState);
            throw otherUse;
        }
        if (queue.isAdmitted(index)) {
            return held(client, claimState, queue, index);
        }
        Renewed answer = new Renewed.Waiting(queue.position(index), Duration.ZERO);
        if (mustLeave(claimState, answer)) {
            return answer;
        }
        if (queue.isFull(index)) {
            discard(client, claimState);
            throw SequencedQueue.full(claimState.name());
        }
        if (!claimState.queue()) {
            discard(client, claimState);
            return RELEASED;
        }
        predecessorWatch.arm(client, claimState, queue, index);
        return answer;
    }

    /**
     * Refuses a claim on a name that is in use in another way.
     *
     * @throws StoreException for a lock of another kind, or for a recipe of another library whose nodes cannot queue with ours
     */
    static void requireSameUse(ClaimState claimState, AdmissionQueue queue, int index) {
        if (queue.isOfAnotherKind(index)) {
            throw new KindConflictException(claimState.name(), queue.get(index).limit(), queue.limit());
        }
        String otherUse = queue.otherUse();
        // A claim that holds or waits already is not given up for a node that came after it.
        if (otherUse != null && claimState.state() == ClaimState.State.SENT) {
            throw StoreException.refused(
                    "\"" + claimState.name() + "\" cannot be a lock here, because " + claimState.parent()
                            + " is that of "
                            + otherUse
                            + ", and neither would notice the other. Use another name or root; if nobody uses"
                            + " the other one any more, delete its node",
                    null);
        }
    }

    /** Grants a claim whose node is among the holders, unless it was released in the meantime. */
    Renewed held(SessionClient client, ClaimState claimState, AdmissionQueue queue, int index) {
        long now = context.now();
        boolean waited = claimState.state() == ClaimState.State.WAITING;
        if (!claimState.hold(now)) {
            discard(client, claimState);
            return RELEASED;
        }
        predecessorWatch.admitted(client, claimState, queue, index);
        context.leaseExpiry().track(claimState);
        Duration lease = claimState.reportedLease(now, context.sessions().guaranteedLifetime(client));
        OneShotListener listener = claimState.listener();
        Granted granted = new Granted(claimState.counter(), lease);
        if (waited && listener != null) {
            listener.granted(granted);
        }
        return granted;
    }

    private static boolean mustLeave(ClaimState claimState, Renewed place) {
        return place instanceof Renewed.Waiting && claimState.listener() == null;
    }

    // Its node is deleted before it is answered: whoever tries after that, from another session, must not find it
    // before its own.
    private CompletionStage<Renewed> leave(SessionClient client, ClaimState claimState, Renewed place) {
        return discard(client, claimState).thenApply(deleted -> place);
    }

    private CompletionStage<@Nullable Void> discard(SessionClient client, ClaimState claimState) {
        String path = claimState.path();
        context.claims().remove(claimState);
        return path == null
                ? CompletableFuture.<@Nullable Void>completedStage(null)
                : context.orphans().remove(client, path);
    }

    // ---- claims that were sent before ----

    private CompletionStage<Renewed> search(SessionClient client, Request request, int searches) {
        Claim claim = request.claim();
        if (searches >= MAX_SEARCHES) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN, "The nodes of claim " + claim.id() + " of \"" + claim.name() + "\" change", null);
        }
        String parent = context.paths().parent(claim.name());
        return queueLists
                .listConfirmed(client, parent)
                .thenCompose(reply ->
                        found(client, request, reply.isMissing() ? AdmissionQueue.EMPTY : reply.get(), searches));
    }

    private CompletionStage<Renewed> found(SessionClient client, Request request, AdmissionQueue queue, int searches) {
        Claim claim = request.claim();
        String parent = context.paths().parent(claim.name());
        List<NodeName> nodes = queue.of(claim.id()).stream()
                .filter(node -> !context.orphans().isDeletePending(parent + '/' + node.text()))
                .toList();
        ClaimState known = context.claims().find(claim.id());
        if (nodes.isEmpty()) {
            if (known != null) {
                // The claim may wait, and its watch may have failed: then this is how its listener learns of the end.
                boolean sameSession = known.session() == client.session();
                context.claims().end(known, sameSession ? Renewed.Reason.RELEASED : Renewed.Reason.EXPIRED);
            }
            if (context.claims().hasTombstone(claim.id())) {
                return done(RELEASED);
            }
            return request.searchOnly() ? done(ABSENT) : send(client, request, searches + 1);
        }
        // Deletes the nodes of creates that arrived twice, if there are any. The first node is that of the claim.
        nodes.subList(1, nodes.size()).forEach(copy -> context.orphans().remove(client, parent + '/' + copy.text()));
        NodeName node = nodes.get(0);
        if (known != null && node.isOfSameClaim(known.node()) && known.session() == client.session()) {
            known.adopt(node);
            return resume(client, known, request, queue, searches);
        }
        String path = parent + '/' + node.text();
        return client.stat(path).thenCompose(reply -> {
            if (reply.isMissing()) {
                return search(client, request, searches + 1);
            }
            Stat stat = reply.get();
            if (stat.getEphemeralOwner() != client.session()) {
                return removeOfAnotherSession(client, path, request, searches);
            }
            ClaimState claimState = known != null ? known : new ClaimState(claim, parent, request.listener());
            ClaimState other = known != null ? known : context.claims().add(claimState);
            if (other != null && other != claimState) {
                return search(client, request, searches + 1);
            }
            claimState.setNode(node, path, stat.getEphemeralOwner(), stat.getCzxid());
            return resume(client, claimState, request, queue, searches);
        });
    }

    // A node of an expired session may be deleted at any moment, so it is no grant, even as the first (CURATOR-604).
    private CompletionStage<Renewed> removeOfAnotherSession(
            SessionClient client, String path, Request request, int searches) {
        return client.delete(path).thenCompose(reply -> {
            if (!reply.isOk() && !reply.isMissing()) {
                throw reply.failure();
            }
            ClaimState known = context.claims().find(request.claim().id());
            if (known != null) {
                context.claims().end(known, Renewed.Reason.EXPIRED);
            }
            return search(client, request, searches + 1);
        });
    }

    private CompletionStage<Renewed> resume(
            SessionClient client, ClaimState claimState, Request request, AdmissionQueue queue, int searches) {
        Claim claim = request.claim();
        OneShotListener listener = request.listener();
        NodeName node = claimState.node();
        if (node == null) {
            return search(client, request, searches + 1);
        }
        if (listener == null) {
            int index = queue.indexOf(node);
            boolean waits = index >= 0 && !queue.isAdmitted(index);
            if (claimState.state() == ClaimState.State.WAITING && waits) {
                return done(new Renewed.Waiting(queue.position(index), Duration.ZERO));
            }
            node.requireNoMore(claim);
            if (claim.permits() < node.permits() && !waits && !request.searchOnly()) {
                return shrink(client, claimState, node, request, queue, searches);
            }
        } else {
            claimState.replaceListener(listener);
            claimState.renew(claim, context.now());
        }
        return settled(client, claimState, queue);
    }

    private CompletionStage<Renewed> settled(SessionClient client, ClaimState claimState, AdmissionQueue queue) {
        Renewed place = evaluate(client, claimState, queue);
        return mustLeave(claimState, place) ? leave(client, claimState, place) : done(place);
    }

    private CompletionStage<Renewed> shrink(
            SessionClient client,
            ClaimState claimState,
            NodeName node,
            Request request,
            AdmissionQueue queue,
            int searches) {
        NodeName smaller = node.resized(request.claim().permits());
        NodeData old = claimState.data();
        byte[] data = new NodeData(old.lease(), claimState.counter(), old.granted(), old.owner()).bytes();
        String parent = claimState.parent();
        claimState.beginShrink();
        return client.replace(parent + '/' + node.text(), parent + '/' + smaller.text(), data, context.acl())
                .thenCompose(reply -> {
                    if (reply.code() == Code.NONODE || reply.code() == Code.NODEEXISTS) {
                        return search(client, request, searches + 1);
                    }
                    reply.get();
                    claimState.adopt(smaller);
                    return settled(client, claimState, queue.with(node, smaller));
                });
    }

    private static CompletionStage<Renewed> done(Renewed answer) {
        return CompletableFuture.completedStage(answer);
    }
}
