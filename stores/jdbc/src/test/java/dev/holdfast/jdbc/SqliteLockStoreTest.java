package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.sqlite.BootId;
import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.io.TempDir;

/** The laws, on a file of SQLite. */
class SqliteLockStoreTest extends LockStoreTck {

    @TempDir
    Path folder;

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new SqliteLockStoreProvider().open("sqlite:" + file(), clock);
    }

    /** With connections of its own, like another process. Clients of one JVM that share theirs: {@link SharedFileTest}. */
    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(SqliteLockStoreProvider.open(file(), StoreOptions.DEFAULTS, clock, BootId.ofThisHost()));
    }

    @Override
    protected void fillQueue(List<Claim> claims) {
        SqliteDialect dialect = new SqliteDialect(clock(), BootId.ofThisHost(), file().toString());
        SqliteFile connections = new SqliteFile(file(), Duration.ofSeconds(30), dialect);
        FullQueue.fill(connections, dialect, store().traits().ticketTtl(), clock(), claims);
    }

    private Path file() {
        return folder.resolve("locks.db");
    }
}
