package dev.holdfast.memcached.record;

import dev.holdfast.spi.LockName;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The operations of this client on one name run one after the other. Otherwise they would change the record under each
 * other, and one of them could lose against the others for ever: each attempt takes a round trip, in which another one
 * has come first. Thread-safe.
 */
final class Turns {

    private final Map<LockName, Queue<Turn>> waiting = new HashMap<>();

    private record Turn(CompletableFuture<?> result, Runnable operation) {}

    /**
     * Runs an operation when those before it on its name have ended.
     *
     * @param result what the operation completes; its turn ends with that. If that is complete before its turn comes,
     *     it is not run
     */
    void run(LockName name, CompletableFuture<?> result, Runnable operation) {
        synchronized (this) {
            Queue<Turn> queue = waiting.get(name);
            if (queue != null) {
                queue.add(new Turn(result, operation));
                return;
            }
            waiting.put(name, new ArrayDeque<>(0));
        }
        start(name, new Turn(result, operation));
    }

    // A loop for those that end at once, as they do when the server is gone: there may be many of them.
    private void start(LockName name, @Nullable Turn first) {
        Turn turn = first;
        while (turn != null) {
            turn.operation().run();
            if (!turn.result().isDone()) {
                turn.result().whenComplete((answer, failure) -> start(name, next(name)));
                return;
            }
            turn = next(name);
        }
    }

    private synchronized @Nullable Turn next(LockName name) {
        Queue<Turn> queue = waiting.getOrDefault(name, new ArrayDeque<>(0));
        Turn next = queue.poll();
        while (next != null && next.result().isDone()) {
            next = queue.poll();
        }
        if (next == null) {
            waiting.remove(name);
        }
        return next;
    }
}
