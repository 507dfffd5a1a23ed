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
    private static final String PAIR = "sh -c 'echo $$ > inner; " + Tool.UNTIL_SIGNAL + "' & echo $$ > outer; wait";

    /** Succeeds if neither of them lives. */
    private static final String NO_PAIR =
            "! grep -qs 'State:.[^ZX]' /proc/$(cat outer)/status /proc/$(cat inner)/status";

    private void awaitEndOfPair() {
        String outer = tool.await("outer");
        String inner = tool.await("inner");
        Tool.await("the end of the command", () -> !Tool.isAlive(outer) && !Tool.isAlive(inner));
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
        // The next one waits for the lease, and for what it takes to notice its end.
        assertThat(tool.run("run", "-w", "8s", "x", "--", "sh", "-c", NO_PAIR).exit())
                .isZero();
        assertThat(running.await().exit()).isEqualTo(137);
    }

    @Test
    void frozenBeyondItsLeaseEndsTheCommandAndExitsWith79() {
        Running running = startPair("--lease", "4s");
        running.signal("STOP");
        Tool.sleep(Duration.ofSeconds(5));
        assertThat(Tool.isAlive(tool.await("outer")))
                .as("a frozen tool can do nothing")
                .isTrue();
        running.signal("CONT");
        Result result = running.await();
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.err()).contains("\"x\" was lost").hasLineCount(1);
        awaitEndOfPair();
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
    void maxHoldEndsTheCommandBeforeTheHoldIsOver() {
        Result result = tool.run(
                "run",
                "--max-hold",
                "6s",
                "--grace",
                "3s",
                "x",
                "--",
                "sh",
                "-c",
                "trap '[ $(date +%s%3N) -lt $HOLDFAST_DEADLINE_MS ] && echo signalled; exit 3' TERM; sleep 60 & wait");
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.out()).isEqualTo("signalled\n");
        tool.leftRunning().forEach(ProcessHandle::destroyForcibly);
    }

    @Test
    void aCommandThatIgnoresSigtermIsKilled() {
        Result result = tool.run(
                "run",
                "--max-hold",
                "6s",
                "--grace",
                "3s",
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
                "5s",
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
        Result result = running.await();
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.err()).contains("BROKEN");
        awaitEndOfPair();
    }
}
