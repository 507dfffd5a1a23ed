package dev.holdfast.etcd.rpc;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.Event;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One watch at the server, for all who are interested in its keys. When the last of them loses its interest, the watch of a
 * single key is idle for a while: clients that want one lock again and again wait behind the same keys each time. It is
 * closed when it has cost more events than another one would have cost requests.
 *
 * <p>Guarded by the monitor of {@link WatchStream}.
 */
final class SharedWatch {

    /** How many events an idle watch may receive. The next claim that uses the key of a released one causes two. */
    private static final int MAX_IDLE_EVENTS = 2;

    /** What is watched: a key, or all keys that begin with it. */
    record Keys(ByteString key, boolean isPrefix) {}

    final Keys keys;
    final List<Interest> interests = new ArrayList<>(1);

    /** The server's number of it; null until it has answered. */
    @Nullable
    Long number;

    /** Nobody may become interested any more. */
    boolean isClosed;

    private long startedAt;
    private long lastEvent;
    private int idleEvents;

    SharedWatch(Keys keys) {
        this.keys = keys;
    }

    /** One who is interested in changes from a revision on. */
    static final class Interest {

        private final long fromRevision;
        final EtcdClient.WatchListener listener;
        volatile boolean isClosed;

        private Interest(long fromRevision, EtcdClient.WatchListener listener) {
            this.fromRevision = fromRevision;
            this.listener = listener;
        }

        // A server that lags behind starts with events that were already seen on another server.
        List<Event> notSeenBefore(List<Event> events) {
            return events.stream()
                    .filter(event -> event.getKv().getModRevision() >= fromRevision)
                    .toList();
        }
    }

    Interest add(long fromRevision, EtcdClient.WatchListener listener) {
        Interest interest = new Interest(fromRevision, listener);
        interests.add(interest);
        idleEvents = 0;
        return interest;
    }

    void started(long serverNumber, long revision) {
        number = serverNumber;
        startedAt = revision;
    }

    /** Whether there may be changes that an interest will not learn of: before the start, or before it was added. */
    boolean hasMissed(Interest interest) {
        return Math.max(startedAt, lastEvent) >= interest.fromRevision;
    }

    /** Events were received, and are passed on to the present interests. */
    void received(List<Event> events) {
        events.forEach(event -> lastEvent = Math.max(lastEvent, event.getKv().getModRevision()));
        idleEvents += interests.isEmpty() ? events.size() : 0;
    }

    boolean isIdle() {
        return interests.isEmpty();
    }

    /** Whether it is idle, and another watch would be cheaper. */
    boolean isWasted() {
        return isIdle() && (keys.isPrefix() || idleEvents > MAX_IDLE_EVENTS);
    }
}
