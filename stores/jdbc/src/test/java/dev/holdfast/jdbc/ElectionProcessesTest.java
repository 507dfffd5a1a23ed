package dev.holdfast.jdbc;

import dev.holdfast.testkit.process.ElectionProcesses;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Five processes stand for one election, on one SQLite file and on one PostgreSQL server. */
@Timeout(3_600)
class ElectionProcessesTest {

    @TempDir
    Path folder;

    @Test
    void noTwoLeadAtOnceAndTheNextOneFollowsOnSqlite() {
        try (ElectionProcesses processes = ElectionProcesses.onFile(folder, "sqlite:" + folder.resolve("locks.db"))) {
            processes.disturbLeaders();
        }
    }

    @Test
    void noTwoLeadAtOnceAndTheNextOneFollowsOnPostgres() {
        PostgresServer server = PostgresServer.shared();
        String direct = server.newSchema();
        try (ElectionProcesses processes = ElectionProcesses.onServer(
                folder,
                server.port(),
                port -> direct.replace(":" + server.port(), ":" + port),
                ElectionProcesses.lease())) {
            processes.disturbLeaders();
        }
    }
}
