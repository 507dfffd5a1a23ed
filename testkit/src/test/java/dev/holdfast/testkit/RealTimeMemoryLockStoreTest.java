package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.Optional;

/** The TCK does without a clock that it holds, as it must for stores whose clock is a server's. */
class RealTimeMemoryLockStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new MemoryLockStore(clock, Duration.ofSeconds(1));
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.empty();
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
