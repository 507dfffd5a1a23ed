package dev.holdfast.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.holdfast.benchmarks.report.MarkedText;
import dev.holdfast.benchmarks.report.Results;
import dev.holdfast.workload.Crew;
import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Workload;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The harness is right: it finds two holders at once, and its medians, plans and delays are correct. */
class HarnessTest {

    @TempDir
    Path folder;

    @Test
    void aBrokenLockShowsOverlapsInOneProcessAndBetweenProcesses() throws Exception {
        try (Crew crew = crew("broken")) {
            assertThat(Workload.PROCESSES.run(crew, run(500)).overlaps())
                    .as("between processes")
                    .isPositive();
            assertThat(Workload.THREADS.run(crew, run(500)).overlaps()).isPositive();
            assertThat(Workload.READERS.run(crew, run(500)).overlaps()).isPositive();
        }
    }

    @Test
    void aSoundLockShowsNone() throws Exception {
        // The JDK's lock holds inside one process only.
        try (Crew crew = crew("floor-fair")) {
            Outcome outcome = Workload.THREADS.run(crew, run(300));
            assertThat(outcome.overlaps()).isZero();
            assertThat(outcome.operations()).isPositive();
            assertThat(outcome.fields().list("threads")).hasSize(16);
            assertThatThrownBy(() -> Workload.FREE.run(
                            crew, new Workload.Run(Duration.ofMillis(1), Duration.ZERO, 1, "x".repeat(3), () -> {
                                throw new IllegalStateException("a counter that fails");
                            })))
                    .hasMessageContaining("a counter that fails");
        }
    }

    @Test
    void aSubjectThatFailsIsReportedAndNotCounted() throws Exception {
        try (Crew crew = crew("nobody")) {
            assertThatThrownBy(() -> Workload.FREE.run(crew, run(10)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("There is no subject nobody");
        }
    }

    @Test
    void mediansAndSpreads() {
        assertThat(Results.median(3, 1, 2)).isEqualTo(2);
        assertThat(Results.median(4, 1, 2, 3)).isEqualTo(2);
        assertThat(Results.median(Double.NaN, 5)).isEqualTo(5);
        assertThat(Results.median()).isNaN();
        Results results = new Results();
        for (int rate : new int[] {90, 100, 130}) {
            results.add(new Fields()
                    .with("kind", "timed")
                    .with("store", "s")
                    .with("label", "l")
                    .with("workload", "free")
                    .with("nanos", 1_000_000_000L)
                    .with("operations", rate));
        }
        Results.Key key = new Results.Key("s", "l", Workload.FREE);
        assertThat(results.median(key, Outcome::perSecond)).isEqualTo(100);
        assertThat(results.spread(key, Outcome::perSecond)).isEqualTo(0.4, within(1e-9));
        assertThat(results.worst(key, Outcome::perSecond)).isEqualTo(130);
    }

    @Test
    void thePlanFitsItsTime() {
        List<Workload> all = List.of(Workload.values());
        Timetable table = Timetable.within(Duration.ofMinutes(36), false, Duration.ZERO, Field.all(), all);
        assertThat(Timetable.seconds(table, Field.all(), all)).isLessThanOrEqualTo(36 * 60 + 1);
        assertThat(table.warmUp(Workload.PROCESSES)).isEqualTo(Duration.ofSeconds(24));
        List<Workload> some = all.stream()
                .filter(workload -> new Timetable(true, 1).includes(workload))
                .toList();
        Timetable quick = Timetable.within(Duration.ofSeconds(270), true, Duration.ZERO, Field.all(), some);
        assertThat(Timetable.seconds(quick, Field.all(), some)).isLessThanOrEqualTo(271);
        Duration minute = Duration.ofMinutes(1);
        Timetable warm = Timetable.within(Duration.ofMinutes(36), false, minute, Field.all(), all);
        assertThat(warm.warmUp(Workload.FREE))
                .isEqualTo(warm.warmUpAtMost(Workload.FREE))
                .isEqualTo(minute);
        assertThat(warm.warmUp(Workload.REENTRY)).isEqualTo(minute);
        assertThat(warm.warmUp(Workload.HELD)).isZero();
        assertThat(warm.firstRound(Workload.FREE)).isZero();
        assertThat(warm.firstRound(Workload.HELD)).isOne();
        assertThat(new Timetable(false, 1).firstRound(Workload.FREE)).isOne();
    }

    @Test
    void onlyWhatIsBetweenTheMarksIsReplaced() throws Exception {
        Path page = folder.resolve("page.md");
        Files.writeString(
                page, "before\n<!-- begin x: written by a program, do not edit -->\nold\n<!-- end x -->\nafter\n");
        MarkedText.replace(page, "x", "new\n");
        MarkedText.replace(page, "x", "newer\n");
        assertThat(Files.readString(page))
                .isEqualTo(
                        "before\n<!-- begin x: written by a program, do not edit -->\nnewer\n<!-- end x -->\nafter\n");
        assertThatThrownBy(() -> MarkedText.replace(page, "y", "")).isInstanceOf(IllegalArgumentException.class);
    }

    private Crew crew(String subject) throws Exception {
        return new Crew(Peers.class, List.of(), subject, "jvm:", Duration.ofSeconds(30), folder);
    }

    private static Workload.Run run(long millis) {
        return new Workload.Run(Duration.ofMillis(millis), Duration.ZERO, 10, "test-", () -> -1);
    }
}
