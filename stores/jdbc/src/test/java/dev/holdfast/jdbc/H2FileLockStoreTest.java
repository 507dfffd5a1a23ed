package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.io.TempDir;

/** The laws, on a file of H2. */
class H2FileLockStoreTest extends LockStoreTck {

    @TempDir
    Path folder;

    @Override
    protected LockStore open(MonotonicClock clock) {
        return open(clock, Duration.ofMinutes(1));
    }

    @Override
    protected LockStore openWithBriefTickets() {
        return open(clock(), Duration.ofSeconds(2));
    }

    @Override
    protected LockStore openWithTickets(Duration timeToLive) {
        return open(clock(), timeToLive);
    }

    private LockStore open(MonotonicClock clock, Duration ticketTtl) {
        return new JdbcLockStoreProvider()
                .open(
                        "jdbc:h2:" + folder.resolve("locks") + "?holdfast.ticketTtl=" + ticketTtl.toMillis() + "ms",
                        clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The long run is made on a clock that can be held.
    @Override
    protected boolean modelRunMeetsExpiry() {
        return false;
    }

    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
