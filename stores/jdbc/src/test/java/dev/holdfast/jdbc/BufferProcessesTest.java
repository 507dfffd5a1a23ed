package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.testkit.process.BufferProcesses;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Six processes share a bounded buffer by a lock and its conditions; members are frozen and killed. */
@Timeout(1_800)
class BufferProcessesTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    @TempDir
    Path folder;

    @Test
    void noItemIsLostOrDoubledOnOneSqliteFile() {
        move("sqlite:" + folder.resolve("locks.db"));
    }

    @Test
    void noItemIsLostOrDoubledOnPostgres() {
        move(PostgresServer.shared().newSchema());
    }

    /** The lock alone does not help against a member that goes on after it was frozen. */
    @Test
    void staleWriteIsFoundIfTheBufferTakesIt() {
        String url = "sqlite:" + folder.resolve("locks.db");
        try (BufferProcesses processes = new BufferProcesses(url, LEASE, false)) {
            assertThatExceptionOfType(AssertionError.class)
                    .isThrownBy(processes::move)
                    .withMessageContaining("[items ");
        }
    }

    private static void move(String url) {
        try (BufferProcesses processes = new BufferProcesses(url, LEASE)) {
            processes.move();
        }
    }
}
