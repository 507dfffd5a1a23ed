package dev.holdfast.benchmarks.soak;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.store.TimeLimit;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The checks of a soak find what is left of each kind, and nothing where nothing is left. {@code tools/soak.sh} runs all stores. */
class SoakTest {

    private static final int MORE_THAN_THE_SLACK = 40;

    /** What is left on purpose is waited for so long, again and again. */
    private static final Duration SHORT = Duration.ofMillis(1_500);

    /** What is on its way may take so long. */
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir
    Path out;

    private final List<AutoCloseable> left = new ArrayList<>();
    private final List<Lease> kept = new ArrayList<>();
    private final CountDownLatch end = new CountDownLatch(1);

    @AfterEach
    void tidyUp() throws Exception {
        end.countDown();
        for (AutoCloseable open : left) {
            open.close();
        }
    }

    @Test
    void nothingIsLeftOfWhatWasGivenBack() throws Exception {
        assertThat(run((store, client) -> {}, PATIENCE)).isEmpty();
        assertThat(out.resolve("soak.csv")).content().contains("redis.connections");
        assertThat(Files.size(out.resolve("soak.png"))).isPositive();
    }

    /** The sweep of the time limits of a closed client is due for some seconds more. */
    @Test
    void whatATimerKeepsForAMomentIsNotLeft() throws Exception {
        assertThat(run(
                        (store, client) -> {
                            for (int i = 0; i < MORE_THAN_THE_SLACK; i++) {
                                new TimeLimit(SHORT.multipliedBy(4))
                                        .begin(() -> {})
                                        .end();
                            }
                        },
                        PATIENCE))
                .isEmpty();
    }

    @Test
    void aThreadAndObjectsAreFound() throws Exception {
        List<String> found = run((store, client) -> {
            new Thread(this::waitForTheEnd, "left-1").start();
            for (int i = 0; i < MORE_THAN_THE_SLACK; i++) {
                Lease lease = client.lock("kept:" + i).acquire();
                lease.release();
                kept.add(lease);
            }
        });
        assertThat(found)
                .anyMatch(line -> line.startsWith("threads: left-#"))
                .anyMatch(line -> line.startsWith("objects: dev.holdfast.internal.hold.Hold"));
    }

    @Test
    void aClientAndAnOpenFileAreFound() throws Exception {
        List<String> found = run((store, client) -> {
            left.add(store.connect("left"));
            left.add(Files.newInputStream(out.resolve("soak.csv")));
        });
        assertThat(found)
                .anyMatch(line -> line.matches("redis: \\d+ connections instead of 0"))
                .anyMatch(line -> line.startsWith("handles: socket to port "))
                .anyMatch(line -> line.startsWith("handles: " + out));
    }

    @Test
    void aHoldAWaitAndWhatIsInTheServerAreFound() throws Exception {
        List<String> found = run((store, client) -> {
            // The first is held by nobody's client any more, the second is waited for.
            client.lock("row", LockOptions.defaults().withFixedLease(Duration.ofMinutes(5)))
                    .tryAcquire()
                    .ifPresent(Lease::letExpire);
            client.lock("row").acquireAsync();
            Socket other = new Socket("127.0.0.1", store.port());
            left.add(other);
            other.getOutputStream().write("SUBSCRIBE left\r\n".getBytes(StandardCharsets.US_ASCII));
            try (Socket writer = new Socket("127.0.0.1", store.port())) {
                writer.getOutputStream().write("SET for-ever 1\r\n".getBytes(StandardCharsets.US_ASCII));
                writer.getInputStream().read();
            }
        });
        assertThat(found)
                .anyMatch(line -> line.startsWith("redis: somebody holds or waits for row "))
                .anyMatch(line -> line.matches("redis: a client still has \\d+ holds and [12] waits"))
                .contains("redis: a subscription to left")
                .contains("redis: the key for-ever without a time to live");
    }

    private List<String> run(Soak.Extra extra) throws Exception {
        return run(extra, SHORT);
    }

    private List<String> run(Soak.Extra extra, Duration patience) throws Exception {
        Soak.Settings settings =
                new Soak.Settings(List.of("redis"), Duration.ofMillis(400), 200, Duration.ofMillis(100), patience);
        return new Soak(settings, out, extra).run();
    }

    private void waitForTheEnd() {
        try {
            end.await();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
