package dev.holdfast.zookeeper.op;

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
 * How a claim in the queue hears that its turn has come. It watches its own node, because others may end it, and one thing
 * more, so that what becomes free wakes those who may get it and nobody else:
 *
 * <table>
 * <caption>What is watched</caption>
 * <tr><th>claim</th><th>watches</th><th>when that changes</th></tr>
 * <tr><td>mutex</td><td>the node just before</td><td>holds, if that one was alone ahead; else lists again</td></tr>
 * <tr><td>write lock</td><td>the node just before</td><td>lists again</td></tr>
 * <tr><td>read lock</td><td>the last write lock before</td><td>lists again</td></tr>
 * <tr><td>permits, first waiter</td><td>the folder</td><td>lists again</td></tr>
 * <tr><td>permits, others</td><td>the node just before, and its data</td><td>lists again</td></tr>
 * <tr><td>wait set</td><td>nothing</td><td></td></tr>
 * </table>
 *
 * <p>A deletion is the grant of a mutex because the list was taken after the own node was made, nobody is put in ahead later,
 * and events come in order: if the own node were gone, its event would have come before.
 *
 * <p>A claim for permits that waited and is granted marks its node, in the background and only if somebody is behind it: the
 * next one is then the first waiter, and must know, because the holders ahead of it may leave in any order.
 */
public final class PredecessorWatch {

    /** A list that failed is asked for again so often; after that the next renewal finds what has become of the claim. */
    private static final int MOST_LOOKS = 8;

    private static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(50);

    private final StoreContext site;

    public PredecessorWatch(StoreContext site) {
        this.site = site;
    }

    /** Sets the watches that a waiting claim needs, if it does not have them. */
    void arm(SessionClient handle, ClaimState place, AdmissionQueue queue, int index) {
        place.seenBehind(index);
        if (place.watchItself()) {
            watchOwn(handle, place);
        }
        NodeName own = queue.get(index);
        if (own.limit() == 0) {
            return;
        }
        NodeName before = target(queue, index, own);
        if (before == null) {
            if (place.watch(place.folder())) {
                look(handle, place, true, 0);
            }
            return;
        }
        String path = place.folder() + '/' + before.text();
        if (place.watch(path)) {
            watchBefore(handle, place, path, isForPermits(own));
        }
    }

    // Null if the whole folder must be watched.
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

    private void watchBefore(SessionClient handle, ClaimState place, String path, boolean forPermits) {
        Watcher watcher = event -> changed(handle, place, path, event);
        handle.data(path, watcher).thenAccept(reply -> {
            boolean changedAlready = reply.isMissing()
                    || (forPermits
                            && reply.isOk()
                            && NodeData.parse(reply.get().text())
                                    .map(NodeData::granted)
                                    .orElse(false));
            if ((changedAlready || !reply.isOk()) && place.watchIsUsedUp(path)) {
                look(handle, place, false, 0);
            }
        });
    }

    private void watchOwn(SessionClient handle, ClaimState place) {
        String path = place.path();
        if (path == null) {
            return;
        }
        handle.stat(path, event -> ownChanged(handle, place, event)).thenAccept(reply -> {
            if (reply.isMissing()) {
                ended(place, Renewed.Reason.RELEASED);
            } else if (!reply.isOk()) {
                place.ownWatchIsUsedUp();
            }
        });
    }

    private void ownChanged(SessionClient handle, ClaimState place, WatchedEvent event) {
        if (event.getType() == EventType.NodeDeleted) {
            ended(place, Renewed.Reason.RELEASED);
        } else if (event.getState() == KeeperState.Expired) {
            ended(place, Renewed.Reason.EXPIRED);
        } else if (event.getType() != EventType.None) {
            place.ownWatchIsUsedUp();
            if (place.state() == ClaimState.State.WAITING && place.watchItself()) {
                watchOwn(handle, place);
            }
        }
    }

    private void ended(ClaimState place, Renewed.Reason reason) {
        if (place.state() == ClaimState.State.WAITING) {
            site.places().end(place, reason);
        }
    }

    private void changed(SessionClient handle, ClaimState place, String path, WatchedEvent event) {
        if (event.getState() == KeeperState.Expired) {
            ended(place, Renewed.Reason.EXPIRED);
        } else if (event.getType() != EventType.None && place.watchIsUsedUp(path)) {
            if (event.getType() == EventType.NodeDeleted && place.isNext()) {
                grant(handle, place);
            } else {
                look(handle, place, false, 0);
            }
        }
    }

    // Lists the folder, and watches it if that is wanted; the list then tells what came before the watch.
    private void look(SessionClient handle, ClaimState place, boolean watchFolder, int looks) {
        String folder = place.folder();
        Watcher watcher = watchFolder ? event -> changed(handle, place, folder, event) : null;
        handle.children(folder, watcher).thenAccept(reply -> {
            if (reply.isOk() || reply.isMissing()) {
                judge(handle, place, reply.isOk() ? AdmissionQueue.of(reply.get()) : AdmissionQueue.EMPTY);
            } else if (looks < MOST_LOOKS) {
                site.timer().after(LOOK_AGAIN_AFTER, () -> lookAgain(place, watchFolder, looks + 1));
            } else if (watchFolder) {
                place.watchIsUsedUp(folder);
            }
        });
    }

    private void lookAgain(ClaimState place, boolean watchFolder, int looks) {
        if (place.state() != ClaimState.State.WAITING) {
            return;
        }
        try {
            SessionClient handle = site.sessions().current();
            if (handle.session() == place.session()) {
                look(handle, place, watchFolder, looks);
            } else if (handle.session() != 0) {
                ended(place, Renewed.Reason.EXPIRED);
            }
        } catch (StoreException notConnected) {
            // The next renewal finds it.
            if (watchFolder) {
                place.watchIsUsedUp(place.folder());
            }
        }
    }

    /** The queue was seen: a waiting claim is granted, ended, or watches what it must. */
    void judge(SessionClient handle, ClaimState place, AdmissionQueue queue) {
        NodeName own = place.node();
        if (own == null || place.state() != ClaimState.State.WAITING) {
            return;
        }
        int index = queue.before(own.text());
        if (index < 0) {
            ended(place, Renewed.Reason.RELEASED);
        } else if (queue.isHolder(index)) {
            if (isForPermits(own) && !queue.isLast(index)) {
                mark(handle, place);
            }
            grant(handle, place);
        } else {
            arm(handle, place, queue, index);
        }
    }

    private void grant(SessionClient handle, ClaimState place) {
        long now = site.now();
        if (!place.hold(now)) {
            return;
        }
        site.leases().watch(place);
        OneShotListener ear = place.ear();
        if (ear != null) {
            ear.granted(place.counter(), place.told(now, site.sessions().sure(handle)));
        }
    }

    /** A claim that others may have seen in the queue holds: the one behind it may now be the first waiter. */
    void admitted(SessionClient handle, ClaimState place, AdmissionQueue queue, int index) {
        if (isForPermits(queue.get(index)) && !queue.isLast(index)) {
            mark(handle, place);
        }
    }

    private static void mark(SessionClient handle, ClaimState place) {
        String path = place.path();
        if (path != null && place.mark()) {
            handle.setData(path, place.data().bytes());
        }
    }
}
