package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.util.Optional;

/** The store in memory obeys the laws. */
class MemoryLockStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new MemoryLockStore(clock);
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.empty();
    }
}
