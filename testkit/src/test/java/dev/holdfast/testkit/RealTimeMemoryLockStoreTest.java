package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.Optional;

/** The TCK works without a manual clock. Stores that use the clock of a server need this. */
class RealTimeMemoryLockStoreTest extends LockStoreTck {

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new MemoryLockStore(clock, Duration.ofMinutes(1));
    }

    @Override
    protected LockStore openWithBriefTickets() {
        return new MemoryLockStore(clock(), Duration.ofSeconds(1));
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.empty();
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return new MemoryLockStore(clock(), timeToLive);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
