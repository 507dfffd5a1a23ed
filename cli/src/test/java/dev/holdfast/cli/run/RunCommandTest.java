package dev.holdfast.cli.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.process.OnLost;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Which options go together. Nothing is sent. */
class RunCommandTest {

    private static RunPlan plan(String... options) {
        RunCommand run = new RunCommand(List.of("true"), 0);
        return run.plan(new CommandLine(run.spec()).parseArgs(options));
    }

    @Test
    void theDefaultIsAMutexForWhichItWaits() {
        RunPlan plan = plan("x");
        assertThat(plan.request()).isEqualTo(new LockRequest(List.of("x"), LockRequest.Kind.MUTEX, 1, 1));
        assertThat(plan.maxWait()).isNull();
        assertThat(plan.grace()).isEqualTo(Duration.ofSeconds(5));
        assertThat(plan.options().lease()).isEqualTo(Duration.ofSeconds(30));
        assertThat(plan.onLost()).isEqualTo(OnLost.TERM);
        assertThat(plan.busyCode()).isEqualTo(1);
    }

    @Test
    void optionsMayStandBeforeAndAfterTheName() {
        RunPlan plan = plan("--lease", "6s", "x", "-w", "2", "--permits=2", "--of", "3", "--on-lost", "KILL");
        assertThat(plan.request()).isEqualTo(new LockRequest(List.of("x"), LockRequest.Kind.SEMAPHORE, 2, 3));
        assertThat(plan.maxWait()).isEqualTo(Duration.ofSeconds(2));
        assertThat(plan.grace()).isEqualTo(Duration.ofSeconds(1));
        assertThat(plan.onLost()).isEqualTo(OnLost.KILL);
        assertThat(plan("-n", "x").maxWait()).isZero();
        assertThat(plan("-k", "b", "a", "-k", "c").request().names()).containsExactly("a", "b", "c");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-n -w 3 x | give one of them",
                "-s -x x | give one of them",
                "-s --of 3 x | give one of them",
                "-k y -s x | does not go with",
                "-k y --of 2 x | does not go with",
                "--permits 2 x | needs --of N",
                "--permits 3 --of 2 x | must be 1 to 2 (--of), but was 3",
                "--permits 0 --of 2 x | must be 1 to 2",
                "--of 0 x | must be 1 to 16777215",
                "-E 256 x | must be 0 to 255, but was 256",
                "--lease 10ms x | must be 100 ms to 24 h",
                "--lease 25h x | must be 100 ms to 24 h",
                "--max-hold 10ms x | at least 100 ms",
                "--grace 16s x | at most half of --lease and of --max-hold, here 15.0s",
                "--grace 2s --max-hold 3s x | here 1.5s",
                "--grace 1s --on-lost kill x | --on-lost term only",
                "--on-lost later x | term, kill or ignore",
                "--store memory: x | exclude nobody",
                "--store= x | --store is empty"
            })
    void combinationsThatMakeNoSenseAreRefusedWith64(String options, String message) {
        assertThatThrownBy(() -> plan(options.split(" ")))
                .isInstanceOfSatisfying(
                        Failure.class, failure -> assertThat(failure.exitCode()).isEqualTo(64))
                .hasMessageContaining(message);
    }

    @Test
    void wrongNamesAreRefusedWith64() {
        for (String name : new String[] {"", "a\nb", "x".repeat(256)}) {
            assertThatThrownBy(() -> plan(name))
                    .satisfies(wrong -> assertThat(ErrorReport.exitCode(wrong)).isEqualTo(64));
        }
        assertThatThrownBy(() -> plan("-k", "x", "x")).hasMessageContaining("named twice");
    }
}
