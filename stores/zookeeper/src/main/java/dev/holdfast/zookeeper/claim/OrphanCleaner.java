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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Nodes of this client that belong to no live claim: those whose removal has not been answered yet, and those that may still
 * come to be, because a request to make them was lost on its way and their claim was released since. A sweep goes with every
 * renewal, and comes by itself while there is anything to remove. Thread-safe.
 */
public final class OrphanCleaner {

    /** A request that is still on its way after so many session time-outs will not arrive any more. */
    private static final int SUSPECT_FOR_TIMEOUTS = 2;

    private final Sessions sessions;
    private final MonotonicClock clock;
    private final Timer timer;
    private final Duration every;
    private final Set<String> doomed = ConcurrentHashMap.newKeySet();
    private final Map<ClaimId, Suspect> suspects = new ConcurrentHashMap<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    private record Suspect(String folder, long until) {}

    public OrphanCleaner(Sessions sessions, MonotonicClock clock, Timer timer) {
        this.sessions = sessions;
        this.clock = clock;
        this.timer = timer;
        this.every = Sessions.sure(sessions.timeout()).dividedBy(3);
    }

    /** Removes a node that nobody needs. It is answered to nobody, and repeated until the node is gone. */
    public void remove(SessionClient handle, String path) {
        doomed.add(path);
        sendDelete(handle, path);
    }

    /** Removes nodes that nobody needs, all at one moment if they are all there. */
    public void removeAll(SessionClient handle, List<String> paths) {
        if (paths.size() < 2) {
            paths.forEach(path -> remove(handle, path));
            return;
        }
        doomed.addAll(paths);
        handle.deleteAll(paths).thenAccept(reply -> {
            if (reply.isOk()) {
                paths.forEach(doomed::remove);
            } else {
                // If only one of them is gone already, none was deleted.
                paths.forEach(path -> sendDelete(handle, path));
            }
        });
    }

    /** Removes a node with the next sweep. */
    public void removeLater(String path) {
        doomed.add(path);
        schedule();
    }

    /** Whether a node is being removed already. */
    public boolean isDoomed(String path) {
        return doomed.contains(path);
    }

    /** A node of this claim, which was released, may still come to be. */
    public void suspect(ClaimId id, String folder) {
        long lasts = sessions.timeout().multipliedBy(SUSPECT_FOR_TIMEOUTS).toNanos();
        suspects.put(id, new Suspect(folder, clock.nanoTime() + lasts));
        schedule();
    }

    /** Sends all that there is to remove. */
    public void sweep(SessionClient handle) {
        doomed.forEach(path -> sendDelete(handle, path));
        long now = clock.nanoTime();
        suspects.values().removeIf(suspect -> suspect.until() - now <= 0);
        Set<String> folders = new HashSet<>();
        suspects.values().forEach(suspect -> folders.add(suspect.folder()));
        for (String folder : folders) {
            handle.children(folder).thenAccept(reply -> {
                if (reply.isOk()) {
                    AdmissionQueue.of(reply.get()).all().stream()
                            .filter(node -> suspects.containsKey(node.id()))
                            .forEach(node -> remove(handle, folder + '/' + node.text()));
                }
            });
        }
    }

    private void sendDelete(SessionClient handle, String path) {
        handle.delete(path).thenAccept(reply -> {
            if (reply.isOk() || reply.isMissing()) {
                doomed.remove(path);
            } else {
                schedule();
            }
        });
    }

    private void schedule() {
        if (scheduled.compareAndSet(false, true)) {
            timer.after(every, () -> {
                scheduled.set(false);
                try {
                    sweep(sessions.current());
                } catch (StoreException away) {
                    // Not connected: later.
                    if (sessions.isClosed()) {
                        return;
                    }
                }
                if (!doomed.isEmpty() || !suspects.isEmpty()) {
                    schedule();
                }
            });
        }
    }
}
