package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** The laws, on a file of H2. */
class H2FileLockStoreTest extends LockStoreTck {

    @TempDir
    Path folder;

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new JdbcLockStoreProvider().open("jdbc:h2:" + folder.resolve("locks") + "?holdfast.ticketTtl=4s", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 2_000;
    }
}
