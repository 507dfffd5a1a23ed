package dev.holdfast.zookeeper;

import dev.holdfast.testkit.process.ElectionProcesses;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Five processes stand for one election on one ZooKeeper server. */
@Timeout(3_600)
class ElectionProcessesTest {

    @TempDir
    Path folder;

    @Test
    void noTwoLeadAtOnceAndTheNextOneFollows() {
        Duration session = ElectionProcesses.lease().plusSeconds(1);
        OneServer server = WithServer.server();
        try (ElectionProcesses processes = ElectionProcesses.onServer(
                folder,
                server.port(),
                port -> "zookeeper://127.0.0.1:" + port + "?sessionTimeout=" + session.toSeconds() + "s",
                session.plusMillis(2 * OneServer.TICK_MILLIS))) {
            processes.disturbLeaders();
        }
    }
}
