package dev.holdfast.memory;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;

/**
 * Opens {@code memory:} as a new store each time. To share one, pass a {@link MemoryLockStore} to {@code
 * Holdfast.over}.
 */
public final class MemoryLockStoreProvider implements LockStoreProvider {

    /** For {@link java.util.ServiceLoader}. */
    public MemoryLockStoreProvider() {}

    @Override
    public String form() {
        return "memory:";
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith("memory:");
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        if (!url.equals("memory:")) {
            throw new IllegalArgumentException("The URL of a store in memory is just memory: but was " + url);
        }
        return new MemoryLockStore(clock);
    }
}
