package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import dev.holdfast.testkit.process.Signals;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Signals to the tool. */
class SignalProcessTest extends ToolTest {

    /** A signal that was ignored when the tests were started, as a shell does for jobs in the background, stays ignored. */
    private static void assumeNotIgnored(int signal) throws IOException {
        Path status = Path.of("/proc/self/status");
        String line = Files.readAllLines(status).stream()
                .filter(any -> any.startsWith("SigIgn:"))
                .findFirst()
                .orElse("SigIgn: 0");
        long ignored = Long.parseUnsignedLong(line.substring("SigIgn:".length()).strip(), 16);
        assumeFalse((ignored >> (signal - 1) & 1) == 1, "signal " + signal + " is ignored here");
    }

    @ParameterizedTest
    @CsvSource({"HUP, 1", "INT, 2", "TERM, 15", "USR1, 10", "ALRM, 14"})
    void reachTheCommand(String name, int number) throws IOException {
        assumeNotIgnored(number);
        Running running = tool.start("run", "x", "--", "sh", "-c", "echo $$ > pid; " + Tool.UNTIL_SIGNAL);
        tool.await("pid");
        running.signal(name);
        assertThat(running.await()).isEqualTo(new Result(128 + number, "", ""));
    }

    @Test
    void leaveTheExitCodeToACommandThatHandlesThem() {
        Running running = tool.start(
                "run",
                "x",
                "--",
                "sh",
                "-c",
                "trap 'echo once; exit 9' TERM; echo $$ > pid; while :; do sleep 0.05; done");
        tool.await("pid");
        running.signal("TERM");
        Result result = running.await();
        assertThat(result.exit()).isEqualTo(9);
        assertThat(result.out()).isEqualTo("once\n");
    }

    @ParameterizedTest
    @CsvSource({"HUP, 1", "INT, 2", "TERM, 15"})
    void endTheWaitAndLeaveNoEntryInTheQueue(String name, int number) throws IOException {
        assumeNotIgnored(number);
        Running holder = tool.start("run", "x", "--", "sh", "-c", "echo $$ > held; " + Tool.UNTIL_SIGNAL);
        tool.await("held");
        Running waiter = tool.start("run", "x", "--", "touch", "ran");
        Tool.await("the waiter in the queue", () -> show().contains("1 waiter"));
        waiter.signal(name);
        assertThat(waiter.await()).isEqualTo(new Result(128 + number, "", ""));
        assertThat(show()).contains("1 holder, 0 waiters");
        holder.signal("TERM");
        assertThat(holder.await().exit()).isEqualTo(143);
        assertThat(show()).contains("nobody holds it and nobody waits");
        assertThat(tool.file("ran")).doesNotExist();
    }

    private String show() {
        return tool.run("show", "x").out();
    }

    @Test
    void ctrlZStopsTheCommandAndTheToolAndContinuesBoth() {
        Running running = tool.start("run", "x", "--", "sh", "-c", Tool.untilLetEnd(4));
        String command = tool.await("pid");
        stopBoth(running, command);
        tool.letEnd();
        running.signal("CONT");
        assertThat(running.await().exit()).isEqualTo(4);
    }

    @Test
    void ctrlZForLongerThanTheLeaseContinuesACommandThatIgnoresTheLoss() {
        Running running =
                tool.start("run", "--lease", "1s", "--on-lost", "ignore", "x", "--", "sh", "-c", Tool.untilLetEnd(4));
        String command = tool.await("pid");
        stopBoth(running, command);
        assertThat(tool.run("run", "x", "--", "true").exit())
                .as("it waits for the lease")
                .isZero();
        tool.letEnd();
        running.signal("CONT");
        Result result = running.await();
        assertThat(result.exit()).isEqualTo(79);
        assertThat(result.err()).contains("ended with 4");
    }

    /** Nothing can stop the first process of a container, and so nobody would continue the command. */
    @Test
    void ctrlZHasNoEffectAsTheFirstProcessOfAContainer() {
        List<String> command = new ArrayList<>(List.of("unshare", "--pid", "--fork", "--mount-proc"));
        assumeTrue(tool.startCommand("", with(command, "true")).await().exit() == 0, "new containers are allowed");
        command.addAll(tool.java());
        String script = "trap 'echo here > here' USR1; " + Tool.untilLetEnd(4);
        Running running = tool.startCommand("", with(command, "run", "x", "--", "sh", "-c", script));
        tool.await("pid");
        long first = running.process().children().findAny().orElseThrow().pid();
        Signals.send("TSTP", first);
        Signals.send("USR1", first);
        tool.await("here");
        tool.letEnd();
        assertThat(running.await().exit()).isEqualTo(4);
    }

    private static List<String> with(List<String> words, String... more) {
        List<String> all = new ArrayList<>(words);
        all.addAll(List.of(more));
        return all;
    }

    /** The JVM blocks it in its threads, and a process inherits that from the one that starts it. */
    @Test
    void quitCanBeSentToTheCommand() {
        assumeTrue(
                tool.startCommand("", List.of("env", "--default-signal=QUIT", "true"))
                                .await()
                                .exit()
                        == 0,
                "env(1) can unblock signals");
        Result result = tool.run("run", "x", "--", "sh", "-c", "ulimit -c 0; kill -QUIT $$; echo blocked");
        assertThat(result).isEqualTo(new Result(128 + 3, "", ""));
    }

    private static void stopBoth(Running running, String command) {
        running.signal("TSTP");
        Tool.await(
                "both stopped",
                () -> isStopped(command)
                        && isStopped(Long.toString(running.process().pid())));
    }

    // A shell that starts a program waits until that has begun, and cannot be stopped meanwhile: if its child was
    // stopped
    // before, both stand still, but the shell does not show it.
    private static boolean isStopped(String pid) {
        char state = Tool.state(pid);
        return state == 'T' || (state == 'D' && hasStoppedChild(pid));
    }

    private static boolean hasStoppedChild(String pid) {
        return ProcessHandle.of(Long.parseLong(pid)).stream()
                .flatMap(ProcessHandle::children)
                .anyMatch(child -> Tool.state(Long.toString(child.pid())) == 'T');
    }
}
