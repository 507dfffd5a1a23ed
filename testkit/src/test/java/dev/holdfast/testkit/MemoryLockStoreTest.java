package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

/** The store in memory keeps the laws. */
class MemoryLockStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new MemoryLockStore(clock);
    }
}
