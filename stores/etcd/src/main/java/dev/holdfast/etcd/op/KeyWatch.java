package dev.holdfast.etcd.op;

import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.session.ClaimState;
import io.etcd.jetcd.api.Event;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A watch on the key of a claim that waits or holds. It may be closed before it was begun. */
abstract class KeyWatch implements EtcdClient.WatchListener, EtcdClient.Watch {

    final ClaimState state;
    /** The create revision of the key. */
    final long created;

    private EtcdClient.@Nullable Watch running;
    private boolean closed;

    /** Under the mutex of the table. */
    KeyWatch(ClaimState state) {
        this.state = state;
        this.created = state.created;
    }

    /** Under the mutex of the table: whether a deletion of the key cannot escape it. */
    abstract boolean covers();

    final void begin(EtcdClient client, long fromRevision) {
        EtcdClient.Watch begun = client.watch(state.key, false, fromRevision, this);
        synchronized (this) {
            if (!closed) {
                running = begun;
                return;
            }
        }
        begun.close();
    }

    @Override
    public final void close() {
        EtcdClient.Watch open;
        synchronized (this) {
            closed = true;
            open = running;
        }
        if (open != null) {
            open.close();
        }
    }

    /** Whether the key has ended: it may have been put again since. */
    final boolean isEnded(List<Event> events) {
        return events.stream()
                .anyMatch(event -> event.getType() == Event.EventType.DELETE
                        || event.getKv().getCreateRevision() > created);
    }
}
