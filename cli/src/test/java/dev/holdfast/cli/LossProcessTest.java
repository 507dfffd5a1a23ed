package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What happens to the command when the tool dies, freezes, or loses its lock. */
class LossProcessTest extends ToolTest {

    /** A command with a child of its own in the same group; both write their process ids. */
    private static final String PAIR = "sh -c 'echo $$ > inner; exec sleep 60' & echo $$ > outer; wait";

    private void assertPairEnds(Duration within) {
        String outer = tool.await("outer");
        String inner = tool.await("inner");
        long start = System.nanoTime();
        Tool.await("the end of the command", () -> !Tool.isAlive(outer) && !Tool.isAlive(inner));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(within);
    }

    private Running startPair(String... options) {
        List<String> arguments = new ArrayList<>(List.of("run"));
        arguments.addAll(List.of(options));
        arguments.addAll(List.of("x", "--", "sh", "-c", PAIR));
        Running running = tool.start(arguments.toArray(String[]::new));
        tool.await("outer");
        tool.await("inner");
        return running;
    }

    @Test
    void aKilledToolTakesItsCommandAlongAndDelaysTheNextByTheLeaseAtMost() {
        Running running = startPair("--lease", "3s");
        running.signal("KILL");
        long killedAt = System.nanoTime();
        assertPairEnds(Duration.ofSeconds(1));
        assertThat(tool.run("run", "-w", "30s", "x", "--", "true").exit()).isZero();
        // The lease, and what it takes to start a JVM and to notice.
        assertThat(Duration.ofNanos(System.nanoTime() - killedAt)).isLessThan(Duration.ofSeconds(3 + 5));
        assertThat(running.await().exit()).isEqualTo(137);
    }

    @Test
    void frozenBeyondItsLeaseEndsTheCommandAndExitsWith79() {
        Running running = startPair("--lease", "2s");
        running.signal("STOP");
        Tool.sleep(Duration.ofSeconds(3));
        assertThat(Tool.isAlive(tool.await("outer")))
                .as("a frozen tool can do nothing")
                .isTrue();
        running.signal("CONT");
        assertPairEnds(Duration.ofSeconds(1));
        Result result = running.await();
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.err()).contains("\"x\" was lost").hasLineCount(1);
    }

    @Test
    void frozenForLessThanItsLeaseGoesOn() {
        Running running = tool.start("run", "--lease", "20s", "x", "--", "sh", "-c", Tool.untilLetEnd(5));
        tool.await("pid");
        running.signal("STOP");
        Tool.sleep(Duration.ofMillis(500));
        running.signal("CONT");
        tool.letEnd();
        assertThat(running.await()).isEqualTo(new Result(5, "", ""));
    }

    @Test
    void maxHoldEndsTheCommandBeforeTheLeaseIsOver() {
        long start = System.nanoTime();
        Result result = tool.run(
                "run",
                "--max-hold",
                "3s",
                "--grace",
                "1s",
                "x",
                "--",
                "sh",
                "-c",
                "trap 'echo signalled; exit 3' TERM; sleep 60 & wait");
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.out()).isEqualTo("signalled\n");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
        tool.leftRunning().forEach(ProcessHandle::destroyForcibly);
    }

    @Test
    void aCommandThatIgnoresSigtermIsKilled() {
        Result result = tool.run(
                "run",
                "--max-hold",
                "3s",
                "--grace",
                "1s",
                "x",
                "--",
                "sh",
                "-c",
                "trap 'echo signalled' TERM; while :; do sleep 0.1; done");
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.out()).isEqualTo("signalled\n");
    }

    @Test
    void aDescendantThatLeftTheGroupIsKilledToo() {
        Result result = tool.run(
                "run",
                "--max-hold",
                "2s",
                "--on-lost",
                "kill",
                "x",
                "--",
                "sh",
                "-c",
                "setsid sh -c 'echo $$ > left; exec sleep 60' & sleep 60");
        assertThat(result.exit()).isEqualTo(79);
        String left = tool.await("left");
        Tool.await("the end of the descendant", () -> !Tool.isAlive(left));
    }

    @Test
    void ignoringALossLetsTheCommandEndAndStillSays79() {
        Result result = tool.run(
                "run",
                "--max-hold",
                "500ms",
                "--on-lost",
                "ignore",
                "x",
                "--",
                "sh",
                "-c",
                "sleep 2; echo done; exit 3");
        assertThat(result.out()).isEqualTo("done\n");
        assertThat(result.err()).contains("ended with 3");
        assertThat(result.exit()).isEqualTo(79);
    }

    @Test
    void aBrokenLockEndsTheCommand() {
        Running running = startPair("--lease", "3s");
        assertThat(tool.run("break", "--yes", "x").exit()).isZero();
        assertPairEnds(Duration.ofSeconds(5));
        Result result = running.await();
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.err()).contains("BROKEN");
    }
}
