package dev.holdfast.zookeeper.op;

import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import dev.holdfast.zookeeper.session.SessionPath;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.zookeeper.AsyncCallback.Children2Callback;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Lists the queues of locks. When many claims of one client join a queue at the same time, or those before many of them leave
 * it together with their client, and each read the whole queue, they would read the square of their number. So at most {@link #MAX_UNDER_WAY} lists of a
 * queue are under way at the same time; all who come meanwhile share the next one, which is sent as soon as one is answered.
 *
 * <p>A list is sent after it was asked for, so it shows what the requests have done that were sent before. Thread-safe.
 */
public final class QueueLists {

    /** The maximum number of lists of one queue that this client has sent, and that are not answered yet. */
    static final int MAX_UNDER_WAY = 16;

    /** Who has asked for a list. Called on the client's event thread, once in all. */
    interface Listener {

        /** The node of the claim that asks, as far as it is known when the reply comes. */
        @Nullable
        NodeName own();

        void listed(Reply<AdmissionQueue> list);

        /** {@link #listed} has thrown this, or there was no memory for the list. */
        void failed(Throwable cause);
    }

    private static final class UnderWay {
        private int lists;
        private List<Listener> next = List.of();
    }

    private final Map<SessionPath, UnderWay> queues = new HashMap<>();
    private final ParentNodes parentNodes;

    /** @param parentNodes is told what each list shows of its parent node */
    public QueueLists(ParentNodes parentNodes) {
        this.parentNodes = parentNodes;
    }

    /** Lists the queue below a parent node. */
    void list(SessionClient client, String parent, Listener listener) {
        SessionPath key = new SessionPath(client.session(), parent);
        synchronized (this) {
            UnderWay queue = queues.get(key);
            if (queue == null) {
                queue = new UnderWay();
                queues.put(key, queue);
            }
            if (queue.lists >= MAX_UNDER_WAY) {
                queue.next = queue.next.isEmpty() ? new ArrayList<>() : queue.next;
                queue.next.add(listener);
                return;
            }
            queue.lists++;
        }
        client.list(parent, new Listing(client, key, List.of(listener)));
    }

    /** Lists the queue below a parent node. */
    CompletionStage<Reply<AdmissionQueue>> list(SessionClient client, String parent) {
        CompletableFuture<Reply<AdmissionQueue>> result = new CompletableFuture<>();
        list(client, parent, new Listener() {
            @Override
            public @Nullable NodeName own() {
                return null;
            }

            @Override
            public void listed(Reply<AdmissionQueue> list) {
                result.complete(list);
            }

            @Override
            public void failed(Throwable cause) {
                result.completeExceptionally(cause);
            }
        });
        return result;
    }

    /** Lists the queue as it is after a {@link SessionClient#confirm}. Fails as that does. */
    CompletionStage<Reply<AdmissionQueue>> listConfirmed(SessionClient client, String parent) {
        return client.confirm(parent)
                .thenCombine(
                        list(client, parent),
                        (confirmed, listed) -> confirmed.isOk() || confirmed.isMissing()
                                ? listed
                                : new Reply<>(confirmed.code(), null, parent));
    }

    /** One list that is under way, and who shares it. */
    private final class Listing implements Children2Callback {

        private final SessionClient client;
        private final SessionPath key;
        private final List<Listener> listeners;

        private Listing(SessionClient client, SessionPath key, List<Listener> listeners) {
            this.client = client;
            this.key = key;
            this.listeners = listeners;
        }

        @Override
        public void processResult(
                int code, String path, Object context, @Nullable List<String> children, @Nullable Stat stat) {
            ended(client, key);
            if (children != null && stat != null) {
                parentNodes.listed(key.path(), children.size(), stat);
            }
            Reply<AdmissionQueue> list;
            try {
                NodeName own = listeners.size() == 1 ? listeners.get(0).own() : null;
                list = Reply.of(code, children == null ? null : AdmissionQueue.of(children, own), path);
            } catch (RuntimeException | Error noMemory) {
                listeners.forEach(listener -> failed(listener, noMemory));
                return;
            }
            for (Listener listener : listeners) {
                try {
                    listener.listed(list);
                } catch (RuntimeException | Error failure) {
                    failed(listener, failure);
                }
            }
        }
    }

    // What one throws must not keep the others from being notified.
    private static void failed(Listener listener, Throwable cause) {
        try {
            listener.failed(cause);
        } catch (RuntimeException | Error thrown) {
            cause.addSuppressed(thrown);
        }
    }

    private void ended(SessionClient client, SessionPath key) {
        List<Listener> sharing;
        synchronized (this) {
            UnderWay queue = queues.get(key);
            if (queue == null) {
                return;
            }
            sharing = queue.next;
            queue.next = List.of();
            queue.lists -= sharing.isEmpty() ? 1 : 0;
            if (queue.lists == 0) {
                queues.remove(key);
            }
        }
        if (!sharing.isEmpty()) {
            try {
                client.list(key.path(), new Listing(client, key, sharing));
            } catch (RuntimeException | Error noMemory) {
                // The client's event thread would drop it, and they would wait for a list that never comes.
                sharing.forEach(listener -> failed(listener, noMemory));
                ended(client, key);
            }
        }
    }
}
