package dev.holdfast.zookeeper.op;

import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
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

    private record Key(long session, String parent) {}

    private static final class UnderWay {
        private int lists;
        private @Nullable CompletableFuture<Reply<AdmissionQueue>> next;
    }

    private final Map<Key, UnderWay> queues = new HashMap<>();

    /** Lists the queue below a parent node. */
    CompletionStage<Reply<AdmissionQueue>> list(SessionClient client, String parent) {
        Key key = new Key(client.session(), parent);
        synchronized (this) {
            UnderWay queue = queues.computeIfAbsent(key, unused -> new UnderWay());
            if (queue.lists >= MAX_UNDER_WAY) {
                queue.next = queue.next == null ? new CompletableFuture<>() : queue.next;
                return queue.next;
            }
            queue.lists++;
        }
        return send(client, key);
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

    private CompletionStage<Reply<AdmissionQueue>> send(SessionClient client, Key key) {
        return client.children(key.parent()).thenApply(reply -> {
            ended(client, key);
            return reply.map(AdmissionQueue::of);
        });
    }

    private void ended(SessionClient client, Key key) {
        CompletableFuture<Reply<AdmissionQueue>> shared;
        synchronized (this) {
            UnderWay queue = queues.get(key);
            if (queue == null) {
                return;
            }
            shared = queue.next;
            queue.next = null;
            queue.lists -= shared == null ? 1 : 0;
            if (queue.lists == 0) {
                queues.remove(key);
            }
        }
        if (shared != null) {
            send(client, key).whenComplete((reply, failure) -> {
                if (failure == null) {
                    shared.complete(reply);
                } else {
                    shared.completeExceptionally(failure);
                }
            });
        }
    }
}
