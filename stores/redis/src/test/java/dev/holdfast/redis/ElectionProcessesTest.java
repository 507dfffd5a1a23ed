package dev.holdfast.redis;

import dev.holdfast.testkit.process.ElectionProcesses;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Five processes stand for one election on one Redis server. */
@Timeout(3_600)
class ElectionProcessesTest {

    @TempDir
    Path folder;

    @Test
    void noTwoLeadAtOnceAndTheNextOneFollows() {
        try (RedisServer server = RedisServer.start();
                ElectionProcesses processes = ElectionProcesses.onServer(
                        folder, server.port(), port -> "redis://127.0.0.1:" + port, ElectionProcesses.lease())) {
            processes.disturbLeaders();
        }
    }
}
