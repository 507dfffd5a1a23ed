package dev.holdfast.jdbc;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import dev.holdfast.testkit.Seeds;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;

/**
 * The laws with locks that stand in another program's table, on H2: as rows or as flags, which the seed decides, because the
 * two differ in a few statements only.
 */
class AdoptedLockStoreTest extends LockStoreTck {

    private static final String DATABASE = "jdbc:h2:mem:adopted;DB_CLOSE_DELAY=-1?";
    private static final boolean FLAGS = new Random(Seeds.of("AdoptedLockStoreTest")).nextBoolean();

    @BeforeAll
    static void makeTheirTable() {
        Servers.run(
                DATABASE,
                "CREATE TABLE IF NOT EXISTS job_lock (name VARCHAR(255) PRIMARY KEY"
                        + (FLAGS ? ", busy BOOLEAN NOT NULL)" : ")"));
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        String layout = FLAGS ? "flag&holdfast.flagColumn=busy" : "insert";
        return new JdbcLockStoreProvider()
                .open(DATABASE + "holdfast.theirTable=job_lock&holdfast.layout=" + layout, clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // What ends by time is the rules' of all databases, which meet it on a clock that can be held.
    @Override
    protected boolean modelRunMeetsExpiry() {
        return false;
    }

    @Override
    protected int modelOperations() {
        return 1_000;
    }
}
