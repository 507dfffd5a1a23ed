package dev.holdfast.redis;

import dev.holdfast.testkit.process.BufferProcesses;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Six processes share a bounded buffer by a lock and its conditions on one Redis server; members are frozen and killed. */
@Timeout(1_800)
class BufferProcessesTest {

    @Test
    void noItemIsLostOrDoubled() {
        try (RedisServer server = RedisServer.start();
                BufferProcesses processes = new BufferProcesses(server.url(), Duration.ofSeconds(1))) {
            processes.move();
        }
    }
}
