package dev.holdfast.zookeeper;

import dev.holdfast.testkit.process.BufferProcesses;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Six processes share a bounded buffer by a lock and its conditions on one server; members are frozen and killed. */
@Timeout(1_800)
class BufferProcessesTest extends WithServer {

    @Test
    void noItemIsLostOrDoubled() {
        String url = "zookeeper://" + server().hosts() + "?sessionTimeout=2s&timeout=1s";
        try (BufferProcesses processes = new BufferProcesses(url, Duration.ofSeconds(2))) {
            processes.move();
        }
    }
}
