package dev.holdfast.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.process.ContendingProcesses;
import dev.holdfast.testkit.process.MemcachedServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Several processes take one lock, while the server is frozen and connections break. */
class MemcachedProcessesTest {

    private static final int PROCESSES = 4;

    /** Longer than the time limit of a call, and shorter than the lease, which nobody loses then. */
    private static final Duration FREEZE = Duration.ofSeconds(2);

    @Test
    void processesExcludeEachOtherThroughFreezesAndBrokenConnections() throws Exception {
        try (MemcachedServer server = MemcachedServer.start();
                LossyProxy proxy = new LossyProxy(server.port());
                ContendingProcesses processes =
                        ContendingProcesses.start(PROCESSES, proxy.url() + "?timeout=1s", "door")) {
            processes.awaitProgress("the start");
            for (String command : new String[] {"add", "cas", "gets"}) {
                for (LossyProxy.Loss loss : LossyProxy.Loss.values()) {
                    proxy.lose(loss, command);
                    processes.awaitProgress("the loss of a " + loss + " of " + command);
                }
            }
            server.signal("STOP");
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(FREEZE.toMillis()));
            server.signal("CONT");
            processes.awaitProgress("a freeze of " + FREEZE.toMillis() + " ms");
            HistoryChecker history = processes.stop();
            history.check();
            assertThat(history.size()).isPositive();
        }
    }
}
