package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ElectionProcesses;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Five processes stand for one election on one SQLite file; leaders are killed and frozen. */
@Timeout(300)
class ElectionProcessesTest {

    @TempDir
    Path folder;

    @Test
    void noTwoLeadAtOnceAndTheNextOneFollows() {
        String url = "sqlite:" + folder.resolve("locks.db");
        try (ElectionProcesses processes = new ElectionProcesses(5, folder, url, Duration.ofSeconds(2))) {
            processes.freezeLeader();
            processes.killLeader();
            processes.resignLeader();
            processes.freezeLeader();
            processes.killLeader();
            processes.history().check();
        }
    }
}
