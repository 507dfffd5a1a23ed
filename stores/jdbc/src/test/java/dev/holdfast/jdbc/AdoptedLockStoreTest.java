package dev.holdfast.jdbc;

import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.ServerStoreTck;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;

/**
 * The laws with locks that stand in another program's table, on H2: as rows or as flags, which the seed decides, because the
 * two differ in a few statements only.
 */
class AdoptedLockStoreTest extends ServerStoreTck {

    private static final String DATABASE = "jdbc:h2:mem:adopted;DB_CLOSE_DELAY=-1?";
    private static final boolean FLAGS = new Random(Seeds.of("AdoptedLockStoreTest")).nextBoolean();

    @BeforeAll
    static void makeTheirTable() {
        Servers.run(
                DATABASE,
                "CREATE TABLE IF NOT EXISTS job_lock (name VARCHAR(255) PRIMARY KEY"
                        + (FLAGS ? ", busy BOOLEAN NOT NULL)" : ")"));
    }

    AdoptedLockStoreTest() {
        super(
                new JdbcLockStoreProvider(),
                DATABASE + "holdfast.theirTable=job_lock&holdfast.layout="
                        + (FLAGS ? "flag&holdfast.flagColumn=busy" : "insert"));
        // What ends by time is the rules' of all databases, which meet it on a clock that can be held.
        meetsNoExpiryInModelRun();
        runsModel(1_000);
    }
}
