package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import org.junit.jupiter.api.BeforeAll;

/** The laws with locks that are flags in the rows of another program's table, on H2. */
class FlagLayoutLockStoreTest extends LockStoreTck {

    private static final String DATABASE = "jdbc:h2:mem:flagged;DB_CLOSE_DELAY=-1?";

    @BeforeAll
    static void makeTheirTable() {
        Servers.run(
                DATABASE, "CREATE TABLE IF NOT EXISTS job_lock (name VARCHAR(255) PRIMARY KEY, busy BOOLEAN NOT NULL)");
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new JdbcLockStoreProvider()
                .open(DATABASE + "holdfast.layout=flag&holdfast.theirTable=job_lock&holdfast.flagColumn=busy", clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
