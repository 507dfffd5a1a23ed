package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** The laws, on a file of SQLite. */
class SqliteLockStoreTest extends LockStoreTck {

    @TempDir
    Path folder;

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new SqliteLockStoreProvider().open("sqlite:" + folder.resolve("locks.db"), clock);
    }
}
