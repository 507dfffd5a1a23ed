package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.session.SessionClient;
import dev.holdfast.zookeeper.session.Sessions;
import dev.holdfast.zookeeper.session.Timer;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Deletes orphans, which are nodes of this client that belong to no live claim. Some of them have a delete that the
 * server has not confirmed yet. Others may still appear: a create may be on its way although its claim was released
 * since. A sweep runs with every renewal, and also by timer while there is anything to delete. Thread-safe.
 */
public final class OrphanCleaner {

    /** A create that has not arrived after this many session time-outs will not arrive any more. */
    private static final int LATE_NODE_TIMEOUTS = 2;

    private final Sessions sessions;
    private final MonotonicClock clock;
    private final Timer timer;
    private final Duration interval;
    private final Set<String> pendingDeletes = ConcurrentHashMap.newKeySet();
    private final Map<ClaimId, LateNode> lateNodes = new ConcurrentHashMap<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    private record LateNode(String parent, long until) {}

    public OrphanCleaner(Sessions sessions, MonotonicClock clock, Timer timer) {
        this.sessions = sessions;
        this.clock = clock;
        this.timer = timer;
        this.interval = Sessions.guaranteedLifetime(sessions.timeout()).dividedBy(3);
    }

    /**
     * Deletes a node, and retries in the background until it is gone.
     *
     * @return completes when the first delete is answered, whatever the answer
     */
    public CompletionStage<@Nullable Void> remove(SessionClient client, String path) {
        pendingDeletes.add(path);
        return sendDelete(client, path);
    }

    /** Deletes nodes as {@link #remove} does: all in one transaction if all of them exist, else one by one. */
    public CompletionStage<@Nullable Void> removeAll(SessionClient client, List<String> paths) {
        pendingDeletes.addAll(paths);
        if (paths.size() < 2) {
            return sendDeletes(client, paths);
        }
        return client.deleteAll(paths).thenCompose(reply -> {
            if (reply.isOk()) {
                paths.forEach(pendingDeletes::remove);
            }
            // The transaction deletes nothing if a single one of the nodes does not exist.
            return sendDeletes(client, reply.isOk() ? List.of() : paths);
        });
    }

    private CompletionStage<@Nullable Void> sendDeletes(SessionClient client, List<String> paths) {
        return CompletableFuture.allOf(paths.stream()
                .map(path -> sendDelete(client, path).toCompletableFuture())
                .toArray(CompletableFuture[]::new));
    }

    /** Deletes a node with the next sweep. */
    public void removeLater(String path) {
        pendingDeletes.add(path);
        schedule();
    }

    /** Whether there is nothing to delete. */
    public boolean isIdle() {
        return pendingDeletes.isEmpty() && lateNodes.isEmpty();
    }

    /** Whether a node is being deleted already. */
    public boolean isDeletePending(String path) {
        return pendingDeletes.contains(path);
    }

    /** Deletes the node of this released claim if it still appears, because a create may be on its way. */
    public void expectLateNode(ClaimId id, String parent) {
        long lasts = sessions.timeout().multipliedBy(LATE_NODE_TIMEOUTS).toNanos();
        lateNodes.put(id, new LateNode(parent, clock.nanoTime() + lasts));
        schedule();
    }

    /** Sends the deletes of all known orphans, and looks for nodes that have appeared late. */
    public void sweep(SessionClient client) {
        pendingDeletes.forEach(path -> sendDelete(client, path));
        long now = clock.nanoTime();
        lateNodes.values().removeIf(lateNode -> lateNode.until() - now <= 0);
        Set<String> parents = new HashSet<>();
        lateNodes.values().forEach(lateNode -> parents.add(lateNode.parent()));
        for (String parent : parents) {
            client.children(parent).thenAccept(reply -> {
                if (reply.isOk()) {
                    AdmissionQueue.of(reply.get()).entries().stream()
                            .filter(node -> lateNodes.containsKey(node.id()))
                            .forEach(node -> remove(client, parent + '/' + node.text()));
                }
            });
        }
    }

    private CompletionStage<@Nullable Void> sendDelete(SessionClient client, String path) {
        return client.delete(path).thenAccept(reply -> {
            if (reply.isOk() || reply.isMissing()) {
                pendingDeletes.remove(path);
            } else {
                schedule();
            }
        });
    }

    private void schedule() {
        if (scheduled.compareAndSet(false, true)) {
            timer.after(interval, () -> {
                scheduled.set(false);
                try {
                    sweep(sessions.inBackground());
                } catch (StoreException notConnected) {
                    // A later sweep tries again.
                    if (sessions.isEnded()) {
                        return;
                    }
                }
                if (!pendingDeletes.isEmpty() || !lateNodes.isEmpty()) {
                    schedule();
                }
            });
        }
    }
}
