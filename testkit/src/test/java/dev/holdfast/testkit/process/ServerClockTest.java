package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program that tells the time, with a clock of the test's. */
class ServerClockTest {

    @TempDir
    Path folder;

    @Test
    void stepMovesTheClockWhichGoesOn() throws IOException {
        ServerClock clock = new ServerClock(folder);
        assertThat(clock.isUsed()).isFalse();
        for (int hours : new int[] {5, -9}) {
            clock.step(Duration.ofHours(hours));
        }
        long before = System.currentTimeMillis() / 1_000;
        long told = seconds(clock);
        long after = System.currentTimeMillis() / 1_000;
        assertThat(told + Duration.ofHours(4).toSeconds()).isBetween(before, after);
        assertThat(clock.isUsed()).isTrue();
    }

    @Test
    void heldClockStandsStill() throws IOException {
        ServerClock clock = new ServerClock(folder);
        for (long micros : new long[] {1_800_000_000_999_999L, 1_000_000_000_000_000L}) {
            clock.hold(micros);
            clock.step(Duration.ofHours(1));
            assertThat(seconds(clock)).isEqualTo(micros / 1_000_000);
        }
    }

    private static long seconds(ServerClock clock) throws IOException {
        List<String> command = new ArrayList<>(clock.prefix());
        command.addAll(List.of("date", "+%s"));
        Process date = new ProcessBuilder(command).redirectErrorStream(true).start();
        String told = new String(date.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return Long.parseLong(told.strip());
    }
}
