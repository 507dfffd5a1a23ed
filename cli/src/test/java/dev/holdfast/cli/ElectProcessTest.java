package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code holdfast elect} as people use it: processes that stand for election, and die, or freeze. */
class ElectProcessTest extends ToolTest {

    /** It ends while a test waits for it, but not because a busy machine stops for a moment. */
    private static final String SHORT = "8s";

    /** Writes the name, the process and the token of the leader, one line for each term, and runs until it is ended. */
    private static String leading(String who) {
        return "echo " + who + " $$ $HOLDFAST_TOKEN >> terms; i=0; while [ $i -lt 1200 ] && [ ! -e end-" + who
                + " ]; do sleep 0.05; i=$((i + 1)); done; exit 7";
    }

    private Running stand(String who, String lease) {
        return tool.start(
                "elect", "--id", who, "--payload", who + ":80", "--lease", lease, "x", "--", "sh", "-c", leading(who));
    }

    private String[] term(int number) {
        return tool.awaitLines("terms", "", number).get(number - 1).split(" ");
    }

    private void awaitStatus(String... parts) {
        Tool.await("the status", () -> {
            String text = tool.run("elect", "--status", "x").out();
            return Stream.of(parts).allMatch(text::contains);
        });
    }

    @Test
    void theCommandsExitCodeIsTheToolsAndTheLockIsFree() {
        Result result = tool.run("elect", "x", "--", "sh", "-c", "echo $HOLDFAST_LOCK $HOLDFAST_TOKEN; exit 5");
        assertThat(result.exit()).isEqualTo(5);
        assertThat(result.out()).matches("x [0-9]+\n");
        assertThat(result.err()).isEmpty();
        assertThat(tool.run("run", "-n", "x", "--", "true").exit()).isZero();
    }

    @Test
    void theNextLeadsWhenALeaderIsKilledAndItsCommandDiesWithIt() {
        Running first = stand("a", SHORT);
        String[] one = term(1);
        Running second = stand("b", SHORT);
        awaitStatus("leads", "a:80", "waits", "b:80");
        first.signal("KILL");
        String[] two = term(2);
        assertThat(two[0]).isEqualTo("b");
        assertThat(Long.parseLong(two[2])).isGreaterThan(Long.parseLong(one[2]));
        assertThat(Tool.isAlive(one[1])).as("the command of a dead leader").isFalse();
        second.signal("TERM");
        assertThat(second.await().exit()).isEqualTo(128 + 15);
        first.await();
        Result nobody = tool.run("elect", "--status", "x");
        assertThat(nobody.out()).contains("nobody leads");
        assertThat(nobody.exit()).isEqualTo(1);
    }

    @Test
    void aLeaderThatWasFrozenEndsItsCommandStandsAgainAndRunsItAgain() {
        Running first = stand("a", SHORT);
        String[] one = term(1);
        Running second = stand("b", SHORT);
        awaitStatus("b:80");
        first.signal("STOP");
        assertThat(term(2)[0]).isEqualTo("b");
        first.signal("CONT");
        Tool.await("the end of the old command", () -> !Tool.isAlive(one[1]));
        awaitStatus("leads", "b:80", "waits", "a:80");
        tool.letEnd("end-b");
        assertThat(second.await().exit()).isEqualTo(7);
        assertThat(term(3)[0]).as("the one that was frozen leads again").isEqualTo("a");
        assertThat(Long.parseLong(term(3)[2])).isGreaterThan(Long.parseLong(term(2)[2]));
        tool.letEnd("end-a");
        Result result = first.await();
        assertThat(result.exit()).isEqualTo(7);
        assertThat(result.err()).contains("the term of \"x\"").contains("the command was ended");
    }

    @Test
    void aSignalEndsTheWaitAndLeavesNoPlaceInTheQueue() {
        Running leader = stand("a", "20s");
        term(1);
        Running waiting = stand("b", "20s");
        awaitStatus("b:80");
        waiting.signal("TERM");
        assertThat(waiting.await().exit()).isEqualTo(128 + 15);
        Result status = tool.run("elect", "--status", "--json", "x");
        assertThat(status.exit()).isZero();
        assertThat(status.out())
                .contains("\"id\": \"a\"", "\"payload\": \"a:80\"")
                .doesNotContain("b:80");
        tool.letEnd("end-a");
        assertThat(leader.await().exit()).isEqualTo(7);
    }

    @Test
    void aLeaderThatWasToldToEndDoesNotStandAgainWhenItsTermIsLost() {
        Running leader = tool.start(
                "elect",
                "--lease",
                "6s",
                "x",
                "--",
                "sh",
                "-c",
                "trap 'echo told > told' TERM; echo $$ >> pids; i=0; while [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done");
        tool.await("pids");
        leader.signal("TERM");
        tool.await("told");
        assertThat(tool.run("break", "--yes", "x").exit()).isZero();
        assertThat(leader.await().exit()).isEqualTo(128 + 15);
        assertThat(tool.text("pids")).as("commands").hasLineCount(1);
    }

    @Test
    void whatDoesNotGoTogetherIsRefused() {
        assertThat(tool.run("elect", "x").exit()).isEqualTo(64);
        assertThat(tool.run("elect", "--status", "x", "--", "true").exit()).isEqualTo(64);
        assertThat(tool.run("elect", "--status", "--id", "a", "x").exit()).isEqualTo(64);
        assertThat(tool.run("elect", "--status", "--lease", "5s", "x").exit()).isEqualTo(64);
        assertThat(tool.run("elect", "--json", "x", "--", "true").exit()).isEqualTo(64);
        assertThat(tool.run("elect", "--id", "two words", "x", "--", "true").exit())
                .isEqualTo(64);
        assertThat(tool.run("elect", "--grace", "10s", "--lease", "15s", "x", "--", "true")
                        .exit())
                .isEqualTo(64);
        assertThat(tool.run("elect", "x", "--", "no-such-program").exit()).isEqualTo(127);
    }
}
