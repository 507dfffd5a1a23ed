package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.sequenced.SequencedQueue;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.claim.NodeWatches;
import dev.holdfast.zookeeper.claim.OneShotListener;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.jspecify.annotations.Nullable;

/**
 * Notifies a claim in the queue when its turn has come, and a claim that holds when it is gone. A waiting claim watches
 * one node before it, which {@link SequencedQueue#blocker} names, or the children of the parent node if it waits for any of
 * several holders. When that changes, it lists again, unless the change is the grant.
 *
 * <p>Others may delete a claim's own node. It is watched where that matters at once: by a claim that holds, from its first
 * renewal on; in a wait set, where the deletion is the signal; and by the next claim of a mutex. All others find it by their
 * next list or renewal, and save a request for each wait (a renewal that reads the node watches it from then on).
 *
 * <p>The deletion of the only node ahead is the grant of a mutex. This is safe for three reasons. The list was
 * taken after the claim's own node was created. No node is inserted ahead of it later. And events arrive in order:
 * if the claim's own node had been deleted before, that event would have arrived earlier. The last is true only if the watch
 * on the own node is live: after a reconnect the server sends the events of the meantime in any order. The claim then lists
 * again instead.
 *
 * <p>A claim for permits that waited and is granted marks its node, in the background and only if another node is
 * behind it. The next node is then the first waiter, and its owner must know this, because the holders ahead may be
 * released in any order.
 */
public final class PredecessorWatch {

    /** The maximum number of retries of a failed list. After that the next renewal finds the state of the claim. */
    private static final int MAX_LIST_RETRIES = 8;

    /** The delay before a failed list is retried. */
    private static final Duration LIST_RETRY_DELAY = Duration.ofMillis(50);

    /** The pause before a mark is written again that could not be written: so long a client needs to connect again. */
    private static final Duration MARK_AGAIN = Duration.ofMillis(200);

    private final StoreContext context;
    private final NodeWatches watches;
    private final QueueLists queueLists;

    public PredecessorWatch(StoreContext context, QueueLists queueLists) {
        this.context = context;
        this.watches = context.watches();
        this.queueLists = queueLists;
    }

    /** Sets the watches that a waiting claim needs, if they are not set yet. */
    void arm(SessionClient client, ClaimState claimState, AdmissionQueue queue, int index) {
        claimState.setPlace(index, queue.position(index));
        int blocker = queue.blocker(index);
        if (blocker == SequencedQueue.NOTHING || claimState.isNext()) {
            watchOwn(client, claimState);
        }
        if (blocker == SequencedQueue.NOTHING) {
            return;
        }
        NodeName predecessor = blocker == SequencedQueue.ALL_HOLDERS ? null : queue.get(blocker);
        String path = claimState.parent() + (predecessor == null ? "" : '/' + predecessor.text());
        String before = claimState.watched();
        if (!claimState.setWatch(path)) {
            return;
        }
        if (before != null) {
            watches.leave(claimState, before);
        }
        if (predecessor == null) {
            list(client, claimState, true, 0);
        } else {
            readPredecessor(client, claimState, path, blocks -> {
                if (!blocks && claimState.clearWatch(path)) {
                    list(client, claimState, false, 0);
                }
            });
        }
    }

    /** Watches the node of a claim that waits or holds, unless it is watched already. */
    void watchOwn(SessionClient client, ClaimState claimState) {
        if (watches.isMissing(claimState, ownPath(claimState))) {
            readOwn(client, claimState, reply -> {
                if (reply.isMissing()) {
                    ownDeleted(client, claimState);
                }
            });
        }
    }

    /**
     * Whether a claim's own node is there and unchanged, because its watch would have told otherwise. That is so up to the
     * state that the last reply on this session was made from, if it is asked on the thread of that reply or later.
     */
    boolean isSurelyThere(ClaimState claimState) {
        return watches.isLive(claimState, ownPath(claimState));
    }

    private static String ownPath(ClaimState claimState) {
        return Objects.requireNonNull(claimState.path(), "a claim that waits or holds has a node");
    }

    private void ownDeleted(SessionClient client, ClaimState claimState) {
        if (claimState.isHeld()) {
            // A downgrade deletes the node, too, and makes another one.
            list(client, claimState, false, 0);
        } else {
            endWaiting(claimState, Renewed.Reason.RELEASED);
        }
    }

    /**
     * Reads the node of a claim, and the one for which it waits, and watches both.
     *
     * @return whether both are as they were; if not, the queue must be listed
     */
    CompletionStage<Boolean> isUnchanged(SessionClient client, ClaimState claimState) {
        CompletionStage<Boolean> exists = readOwn(client, claimState).thenApply(Reply::isOk);
        String watched = claimState.watched();
        if (watched == null) {
            return exists;
        }
        CompletableFuture<Boolean> blocked = new CompletableFuture<>();
        readPredecessor(client, claimState, watched, blocked::complete);
        return exists.thenCombine(blocked, (here, blocks) -> {
            if (!blocks) {
                claimState.clearWatch(watched);
            }
            return here && blocks;
        });
    }

    /** Reads and watches the node of a claim that waits or holds. */
    CompletionStage<Reply<SessionClient.Data>> readOwn(SessionClient client, ClaimState claimState) {
        CompletableFuture<Reply<SessionClient.Data>> reply = new CompletableFuture<>();
        readOwn(client, claimState, reply::complete);
        return reply;
    }

    private void readOwn(SessionClient client, ClaimState claimState, Consumer<Reply<SessionClient.Data>> then) {
        String path = ownPath(claimState);
        watches.read(client, claimState, path, event -> ownChanged(client, claimState, path, event), then);
    }

    // Tells whether the claim must still wait for that node, which is then watched.
    private void readPredecessor(SessionClient client, ClaimState claimState, String path, Consumer<Boolean> then) {
        boolean endsWhenGranted = waitsForWaiter(claimState, path);
        watches.read(client, claimState, path, event -> changed(client, claimState, path, event), reply -> {
            boolean blocks = reply.isOk() && !(endsWhenGranted && isGranted(reply.get()));
            if (!blocks) {
                watches.leave(claimState, path);
            }
            then.accept(blocks);
        });
    }

    // Whether permits are short, and the claim at that path was a waiter, too, when the queue was listed.
    private static boolean waitsForWaiter(ClaimState claimState, String path) {
        NodeName own = claimState.node();
        if (own == null || !own.isForPermits() || claimState.position() == 0) {
            return false;
        }
        NodeName before = NodeName.parse(path.substring(path.lastIndexOf('/') + 1));
        return before != null && !before.isExclusive();
    }

    private static boolean isGranted(SessionClient.Data data) {
        return NodeData.parse(data.text()).map(NodeData::granted).orElse(false);
    }

    private void ownChanged(SessionClient client, ClaimState claimState, String path, WatchedEvent event) {
        if (event.getState() == KeeperState.Expired) {
            gone(claimState, Renewed.Reason.EXPIRED);
        } else if (event.getType() != EventType.None && path.equals(claimState.path())) {
            if (event.getType() == EventType.NodeDeleted) {
                ownDeleted(client, claimState);
            } else if (claimState.state() != ClaimState.State.OVER) {
                watchOwn(client, claimState);
            }
        }
    }

    private void endWaiting(ClaimState claimState, Renewed.Reason reason) {
        if (claimState.state() == ClaimState.State.WAITING) {
            gone(claimState, reason);
        }
    }

    // Somebody has deleted the node of a claim that waits or holds, or its session has ended.
    private void gone(ClaimState claimState, Renewed.Reason reason) {
        boolean held = claimState.isHeld();
        context.claims().end(claimState, reason);
        if (held) {
            if (reason == Renewed.Reason.RELEASED) {
                // A renewal that is under way gives the same reason.
                context.claims().addTombstone(claimState.claim());
            }
            context.losses().lost(claimState.name(), claimState.id(), reason);
        }
    }

    private void changed(SessionClient client, ClaimState claimState, String path, WatchedEvent event) {
        if (event.getState() == KeeperState.Expired) {
            endWaiting(claimState, Renewed.Reason.EXPIRED);
        } else if (event.getType() != EventType.None && claimState.clearWatch(path)) {
            if (event.getType() == EventType.NodeDeleted && claimState.isNext() && isSurelyThere(claimState)) {
                grant(client, claimState);
            } else {
                list(client, claimState, false, 0);
            }
        }
    }

    // Lists the children, and sets a watch on them if requested. The list then shows all changes before the watch
    // was set.
    private void list(SessionClient client, ClaimState claimState, boolean watchParent, int retries) {
        String parent = claimState.parent();
        ListOfWaiter asked = new ListOfWaiter(client, claimState, watchParent, retries);
        if (watchParent) {
            client.children(parent, event -> changed(client, claimState, parent, event))
                    .thenAccept(reply -> asked.listed(reply.map(AdmissionQueue::of)));
        } else {
            queueLists.list(client, parent, asked);
        }
    }

    /** A list that was asked for because a claim's turn may have come. */
    private final class ListOfWaiter implements QueueLists.Listener {

        private final SessionClient client;
        private final ClaimState claimState;
        private final boolean watchParent;
        private final int retries;

        private ListOfWaiter(SessionClient client, ClaimState claimState, boolean watchParent, int retries) {
            this.client = client;
            this.claimState = claimState;
            this.watchParent = watchParent;
            this.retries = retries;
        }

        @Override
        public @Nullable NodeName own() {
            return claimState.node();
        }

        @Override
        public void listed(Reply<AdmissionQueue> reply) {
            if (reply.isOk() || reply.isMissing()) {
                evaluate(client, claimState, reply.isOk() ? reply.get() : AdmissionQueue.EMPTY);
            } else {
                again();
            }
        }

        @Override
        public void failed(Throwable cause) {
            again();
        }

        private void again() {
            if (retries < MAX_LIST_RETRIES) {
                context.timer().after(LIST_RETRY_DELAY, () -> listAgain(claimState, watchParent, retries + 1));
            } else if (watchParent) {
                claimState.clearWatch(claimState.parent());
            }
        }
    }

    private void listAgain(ClaimState claimState, boolean watchParent, int retries) {
        if (claimState.state() == ClaimState.State.OVER) {
            return;
        }
        try {
            SessionClient client = context.sessions().current();
            if (client.session() == claimState.session()) {
                list(client, claimState, watchParent, retries);
            } else if (client.session() != 0) {
                endWaiting(claimState, Renewed.Reason.EXPIRED);
            }
        } catch (StoreException notConnected) {
            // The next renewal finds the state of the claim.
            if (watchParent) {
                claimState.clearWatch(claimState.parent());
            }
        }
    }

    /** Grants or ends a claim after the queue was listed, or sets the watches that it needs. */
    void evaluate(SessionClient client, ClaimState claimState, AdmissionQueue queue) {
        NodeName own = claimState.node();
        boolean waits = claimState.state() == ClaimState.State.WAITING;
        if (own == null || !(waits || claimState.isHeld())) {
            return;
        }
        int index = queue.indexOf(own);
        if (index < 0) {
            gone(claimState, Renewed.Reason.RELEASED);
        } else if (!waits) {
            claimState.adopt(queue.get(index));
            watchOwn(client, claimState);
        } else if (queue.isAdmitted(index)) {
            admitted(client, claimState, queue, index);
            grant(client, claimState);
        } else {
            arm(client, claimState, queue, index);
        }
    }

    private void grant(SessionClient client, ClaimState claimState) {
        long now = context.now();
        if (!claimState.hold(now)) {
            return;
        }
        context.leaseExpiry().track(claimState);
        OneShotListener listener = claimState.listener();
        if (listener != null) {
            listener.granted(new Granted(
                    claimState.counter(),
                    claimState.reportedLease(now, context.sessions().guaranteedLifetime(client))));
        }
    }

    /**
     * A claim holds now. It is marked if others may have seen it wait, because the next node may now be the first waiter.
     */
    void admitted(SessionClient client, ClaimState claimState, AdmissionQueue queue, int index) {
        String watched = claimState.watched();
        if (watched != null) {
            claimState.clearWatch(watched);
            watches.leave(claimState, watched);
        }
        if (queue.get(index).isForPermits() && !queue.isLast(index)) {
            mark(client, claimState);
        }
    }

    private void mark(SessionClient client, ClaimState claimState) {
        String path = claimState.path();
        if (path != null && claimState.mark()) {
            writeMark(client, claimState, path);
        }
    }

    // Until it is written: waiters that are far back read nothing else of the queue, and would wait for this one's
    // release.
    void writeMark(SessionClient client, ClaimState claimState, String path) {
        client.setData(path, claimState.data().bytes()).thenAccept(reply -> {
            if (!reply.isOk() && !reply.isMissing() && claimState.isHeld()) {
                context.timer().after(MARK_AGAIN, () -> writeMark(client, claimState, path));
            }
        });
    }
}
