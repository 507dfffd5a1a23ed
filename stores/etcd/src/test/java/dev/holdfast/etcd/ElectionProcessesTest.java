package dev.holdfast.etcd;

import dev.holdfast.testkit.process.ElectionProcesses;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Five processes stand for one election on one etcd server. */
@Timeout(3_600)
class ElectionProcessesTest {

    private static final Duration EXPIRY = Duration.ofMillis(500);

    @TempDir
    Path folder;

    @Test
    void noTwoLeadAtOnceAndTheNextOneFollows() {
        Duration session = ElectionProcesses.lease().plusSeconds(1);
        try (EtcdServer server = EtcdServer.start();
                ElectionProcesses processes = ElectionProcesses.onServer(
                        folder,
                        server.port(),
                        port -> "etcd://127.0.0.1:" + port + "?session=" + session.toSeconds() + "s",
                        session.plus(EXPIRY))) {
            processes.disturbLeaders();
        }
    }
}
