package dev.holdfast.internal;

import dev.holdfast.spi.OwnerInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which names the threads of this client hold, looked up once for a batch of renewals, and only if somebody waits: it is
 * told with the tickets of waiters, so that people, and a search for deadlocks, can see who waits for whom.
 */
final class HeldNames {

    private final Engine engine;
    private @Nullable Map<Thread, List<String>> byThread;

    HeldNames(Engine engine) {
        this.engine = engine;
    }

    /** The names that these threads hold through {@code lock()}, bounded; those of a resource that is busy may be missing. */
    List<String> of(List<Thread> threads) {
        if (threads.isEmpty()) {
            return List.of();
        }
        if (byThread == null) {
            byThread = lookUp();
        }
        List<String> names = new ArrayList<>();
        for (Thread thread : threads) {
            names.addAll(byThread.getOrDefault(thread, List.of()));
            if (names.size() >= OwnerInfo.MAX_HELD) {
                break;
            }
        }
        return names;
    }

    private Map<Thread, List<String>> lookUp() {
        Map<Thread, List<String>> found = new HashMap<>();
        for (Resource resource : engine.resources()) {
            // tryLock: the caller has another resource's mutex, and two of them are never waited for together.
            if (resource.mutex().tryLock()) {
                try {
                    for (Thread thread : resource.threads().threads()) {
                        found.computeIfAbsent(thread, unused -> new ArrayList<>())
                                .add(resource.name().value());
                    }
                } finally {
                    resource.mutex().unlock();
                }
            }
        }
        return found;
    }
}
