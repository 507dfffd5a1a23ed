package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.claim.OneShotListener;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeData;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.SessionClient;
import java.time.Duration;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.jspecify.annotations.Nullable;

/**
 * Notifies a claim in the queue when its turn has come. The claim watches its own node, because others may delete
 * it. It also watches one more node, chosen such that a release wakes only those claims that may then be granted:
 *
 * <table>
 * <caption>What is watched</caption>
 * <tr><th>claim</th><th>watches</th><th>when that changes</th></tr>
 * <tr><td>mutex</td><td>the node just before</td><td>holds if no other node was ahead, else lists again</td></tr>
 * <tr><td>write lock</td><td>the node just before</td><td>lists again</td></tr>
 * <tr><td>read lock</td><td>the last write lock before</td><td>lists again</td></tr>
 * <tr><td>permits, first waiter</td><td>the children of the parent node</td><td>lists again</td></tr>
 * <tr><td>permits, others</td><td>the node just before, and its data</td><td>lists again</td></tr>
 * <tr><td>wait set</td><td>nothing</td><td></td></tr>
 * </table>
 *
 * <p>The deletion of the only node ahead is the grant of a mutex. This is safe for three reasons. The list was
 * taken after the claim's own node was created. No node is inserted ahead of it later. And events arrive in order:
 * if the claim's own node had been deleted before, that event would have arrived earlier.
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

    private final StoreContext context;

    public PredecessorWatch(StoreContext context) {
        this.context = context;
    }

    /** Sets the watches that a waiting claim needs, if they are not set yet. */
    void arm(SessionClient client, ClaimState claimState, AdmissionQueue queue, int index) {
        claimState.setAhead(index);
        if (claimState.setOwnWatch()) {
            watchOwn(client, claimState);
        }
        NodeName own = queue.get(index);
        if (own.limit() == 0) {
            return;
        }
        NodeName predecessor = target(queue, index, own);
        if (predecessor == null) {
            if (claimState.setWatch(claimState.parent())) {
                list(client, claimState, true, 0);
            }
            return;
        }
        String path = claimState.parent() + '/' + predecessor.text();
        if (claimState.setWatch(path)) {
            watchPredecessor(client, claimState, path, isForPermits(own));
        }
    }

    // Returns null if all children of the parent node must be watched.
    private static @Nullable NodeName target(AdmissionQueue queue, int index, NodeName own) {
        if (own.isRead()) {
            return queue.lastWriteBefore(index);
        }
        if (isForPermits(own) && queue.position(index) == 0) {
            return null;
        }
        return queue.get(index - 1);
    }

    private static boolean isForPermits(NodeName node) {
        return node.limit() != 1 && !node.isRead() && !node.isWrite();
    }

    private void watchPredecessor(SessionClient client, ClaimState claimState, String path, boolean forPermits) {
        Watcher watcher = event -> changed(client, claimState, path, event);
        client.data(path, watcher).thenAccept(reply -> {
            boolean changedAlready = reply.isMissing()
                    || (forPermits
                            && reply.isOk()
                            && NodeData.parse(reply.get().text())
                                    .map(NodeData::granted)
                                    .orElse(false));
            if ((changedAlready || !reply.isOk()) && claimState.clearWatch(path)) {
                list(client, claimState, false, 0);
            }
        });
    }

    private void watchOwn(SessionClient client, ClaimState claimState) {
        String path = claimState.path();
        if (path == null) {
            return;
        }
        client.stat(path, event -> ownChanged(client, claimState, event)).thenAccept(reply -> {
            if (reply.isMissing()) {
                endWaiting(claimState, Renewed.Reason.RELEASED);
            } else if (!reply.isOk()) {
                claimState.clearOwnWatch();
            }
        });
    }

    private void ownChanged(SessionClient client, ClaimState claimState, WatchedEvent event) {
        if (event.getType() == EventType.NodeDeleted) {
            endWaiting(claimState, Renewed.Reason.RELEASED);
        } else if (event.getState() == KeeperState.Expired) {
            endWaiting(claimState, Renewed.Reason.EXPIRED);
        } else if (event.getType() != EventType.None) {
            claimState.clearOwnWatch();
            if (claimState.state() == ClaimState.State.WAITING && claimState.setOwnWatch()) {
                watchOwn(client, claimState);
            }
        }
    }

    private void endWaiting(ClaimState claimState, Renewed.Reason reason) {
        if (claimState.state() == ClaimState.State.WAITING) {
            context.claims().end(claimState, reason);
        }
    }

    private void changed(SessionClient client, ClaimState claimState, String path, WatchedEvent event) {
        if (event.getState() == KeeperState.Expired) {
            endWaiting(claimState, Renewed.Reason.EXPIRED);
        } else if (event.getType() != EventType.None && claimState.clearWatch(path)) {
            if (event.getType() == EventType.NodeDeleted && claimState.isNext()) {
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
        Watcher watcher = watchParent ? event -> changed(client, claimState, parent, event) : null;
        client.children(parent, watcher).thenAccept(reply -> {
            if (reply.isOk() || reply.isMissing()) {
                evaluate(client, claimState, reply.isOk() ? AdmissionQueue.of(reply.get()) : AdmissionQueue.EMPTY);
            } else if (retries < MAX_LIST_RETRIES) {
                context.timer().after(LIST_RETRY_DELAY, () -> listAgain(claimState, watchParent, retries + 1));
            } else if (watchParent) {
                claimState.clearWatch(parent);
            }
        });
    }

    private void listAgain(ClaimState claimState, boolean watchParent, int retries) {
        if (claimState.state() != ClaimState.State.WAITING) {
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

    /** Grants or ends a waiting claim after the queue was listed, or sets the watches that it needs. */
    void evaluate(SessionClient client, ClaimState claimState, AdmissionQueue queue) {
        NodeName own = claimState.node();
        if (own == null || claimState.state() != ClaimState.State.WAITING) {
            return;
        }
        int index = queue.indexOf(own.text());
        if (index < 0) {
            endWaiting(claimState, Renewed.Reason.RELEASED);
        } else if (queue.isHolder(index)) {
            if (isForPermits(own) && !queue.isLast(index)) {
                mark(client, claimState);
            }
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
     * Marks a claim that now holds, because others may have seen it wait: the next node may now be the first
     * waiter.
     */
    void admitted(SessionClient client, ClaimState claimState, AdmissionQueue queue, int index) {
        if (isForPermits(queue.get(index)) && !queue.isLast(index)) {
            mark(client, claimState);
        }
    }

    private static void mark(SessionClient client, ClaimState claimState) {
        String path = claimState.path();
        if (path != null && claimState.mark()) {
            client.setData(path, claimState.data().bytes());
        }
    }
}
