package dev.holdfast.zookeeper.claim;

import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import dev.holdfast.zookeeper.session.SessionPath;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.jspecify.annotations.Nullable;

/**
 * The watches of this client on the nodes of claims: one for each node, however many claims are interested in it. When the
 * last of these claims loses its interest, the watch is removed. Else each wait that ends without the lock would leave a
 * watch behind until the node before it is deleted.
 *
 * <p>A watch is set by reading the node, which sets none if the node is missing. The first event about the node uses it up,
 * and so does its removal by others who share the session. An event about the connection does not, because the client sets
 * all watches again when it reconnects; only the end of the session ends them all.
 *
 * <h2>When a watch is live</h2>
 *
 * <p>A watch is <em>live</em> from the reply to the read that has set it until the first event of any kind, also about the
 * connection. A server handles the requests of a session in order, sets a watch in one step with the read, and sends the
 * event of a change before the reply to any later request that shows it, or that was decided after it. The client passes on
 * replies and events in the order in which they have arrived, on one thread. So whoever sees there a reply to a request, and
 * after that a live watch, knows that the node has not changed up to the state that the reply was made from. That is what
 * {@code Renew} relies on.
 *
 * <p>The requests that set and remove a watch are sent under the lock of this object, so that the server receives them in
 * the order in which the claims come and go. Nothing else happens under it. Thread-safe.
 */
public final class NodeWatches {

    private final Map<SessionPath, NodeWatch> watches = new HashMap<>();

    private enum State {
        /** The node is being read. */
        ASKED,
        /** The node was read on this connection, and there was no event since. */
        LIVE,
        /** The connection was broken since the node was read, so that events may be missing or come in any order. */
        STALE
    }

    /** The watch on one node, and who is interested in it. */
    private final class NodeWatch implements Watcher {

        private final SessionPath key;
        private final SessionClient client;
        private final Map<ClaimState, Consumer<WatchedEvent>> claims = new LinkedHashMap<>(2);
        private State state = State.STALE;

        private NodeWatch(SessionPath key, SessionClient client) {
            this.key = key;
            this.client = client;
        }

        @Override
        public void process(WatchedEvent event) {
            receivers(this, event).forEach(receiver -> receiver.accept(event));
        }
    }

    private synchronized List<Consumer<WatchedEvent>> receivers(NodeWatch watch, WatchedEvent event) {
        List<Consumer<WatchedEvent>> receivers = new ArrayList<>(watch.claims.values());
        watch.state = State.STALE;
        if (event.getType() != EventType.None || event.getState() == KeeperState.Expired) {
            watches.remove(watch.key, watch);
            watch.claims.clear();
        }
        return receivers;
    }

    /**
     * Reads a node, and watches it from then on, unless the claim is over. If the node is missing, the claim does not watch it;
     * nor does it after another failure, unless it did before.
     *
     * @param onEvent receives the events, on the client's event thread
     * @param then receives the reply, on the same thread
     */
    public void read(
            SessionClient client,
            ClaimState claimState,
            String path,
            Consumer<WatchedEvent> onEvent,
            Consumer<Reply<SessionClient.Data>> then) {
        SessionPath key = new SessionPath(client.session(), path);
        synchronized (this) {
            if (claimState.state() == ClaimState.State.OVER) {
                client.data(path, null, then);
                return;
            }
            NodeWatch watch = watches.computeIfAbsent(key, unused -> new NodeWatch(key, client));
            boolean isNew = watch.claims.put(claimState, onEvent) == null;
            watch.state = watch.state == State.LIVE ? State.LIVE : State.ASKED;
            // The reply is seen on the thread of the events, in its order among them. Else it might make a watch live
            // whose connection was broken meanwhile.
            client.data(path, watch, reply -> {
                // If an event has used up the watch in the meantime, nobody learns of the next one, and this changes
                // nothing.
                answered(watch, reply.isOk());
                if (!reply.isOk() && (isNew || reply.isMissing())) {
                    forget(key, claimState);
                }
                then.accept(reply);
            });
        }
    }

    private synchronized void answered(NodeWatch watch, boolean ok) {
        watch.state = ok ? State.LIVE : State.STALE;
    }

    /** Whether the claim watches the node, and the node has not changed since it was read: see above. */
    public synchronized boolean isLive(ClaimState claimState, String path) {
        return state(claimState, path) == State.LIVE;
    }

    /** Whether the claim must read the node for its watch to be live: it is not, and nobody reads the node just now. */
    public synchronized boolean isMissing(ClaimState claimState, String path) {
        return state(claimState, path) == State.STALE;
    }

    private State state(ClaimState claimState, String path) {
        NodeWatch watch = watches.get(new SessionPath(claimState.session(), path));
        return watch == null || !watch.claims.containsKey(claimState) ? State.STALE : watch.state;
    }

    /** The claim is not interested any more in another claim's node. */
    public synchronized void leave(ClaimState claimState, String path) {
        NodeWatch unused = forget(new SessionPath(claimState.session(), path), claimState);
        if (unused != null) {
            unused.client.unwatch(path, unused);
        }
    }

    /** The claim is not interested any more in a node that is gone, or about to be deleted, which uses up the watch. */
    public void forget(ClaimState claimState, String path) {
        forget(new SessionPath(claimState.session(), path), claimState);
    }

    // Returns the watch if nobody is interested in it any more.
    private synchronized @Nullable NodeWatch forget(SessionPath key, ClaimState claimState) {
        NodeWatch watch = watches.get(key);
        if (watch == null || watch.claims.remove(claimState) == null || !watch.claims.isEmpty()) {
            return null;
        }
        watches.remove(key);
        return watch;
    }

    /** The number of nodes that are watched. */
    public synchronized int count() {
        return watches.size();
    }
}
