package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import dev.holdfast.testkit.process.Signals;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code holdfast run} of commands that end by themselves. */
class RunProcessTest extends ToolTest {

    @Test
    void givesTheCommandsOwnExitCode() {
        assertThat(tool.run("run", "x", "--", "sh", "-c", "exit 42").exit()).isEqualTo(42);
        assertThat(tool.run("run", "x", "--", "true").exit()).isZero();
        assertThat(tool.run("run", "x", "--", "sh", "-c", "exit 255").exit()).isEqualTo(255);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--store URL -v", "-v --store URL", "--verbose --store=URL"})
    void optionsMayStandBeforeTheCommandOfTheTool(String options) {
        String url = "sqlite:" + folder.resolve("other.db");
        String words = options.replace("URL", url) + " run a -- sh -c";
        List<String> arguments = new ArrayList<>(List.of(words.split(" ")));
        arguments.add("exit 7");

        Tool.Result result = tool.run(arguments.toArray(String[]::new));

        assertThat(result.exit()).isEqualTo(7);
        assertThat(result.err()).contains("the command line is read");
        assertThat(folder.resolve("other.db")).exists();
    }

    /** Everybody on the machine can see the arguments of a process. */
    @Test
    void passwordOfTheVariableIsInNoArgumentAndNoOutput() {
        tool.with("HOLDFAST_STORE", "jdbc:h2:" + folder.resolve("db") + ";USER=me;PASSWORD=hunter2")
                .with("spring.datasource.password", "hunter2");
        Running run = tool.start("-v", "run", "x", "--", "sh", "-c", Tool.untilLetEnd(0));
        tool.await("pid");
        // The sentinel is no child of the tool; it has the folder of the test in its arguments.
        List<String> seen = Stream.of(
                        Stream.of(run.process().toHandle()), run.process().descendants(), tool.leftRunning().stream())
                .flatMap(some -> some)
                .map(Tool::arguments)
                .filter(arguments -> !arguments.isEmpty())
                .toList();
        tool.letEnd();
        Result result = run.await();
        assertThat(result.exit()).as(result.err()).isZero();
        assertThat(seen)
                .anyMatch(arguments -> arguments.contains("Main"))
                .anyMatch(arguments -> arguments.contains("holdfast-sentinel"))
                .anyMatch(arguments -> arguments.contains("> pid"));
        assertThat(seen).noneMatch(arguments -> arguments.contains("hunter2"));
        assertThat(result.out() + result.err()).doesNotContain("hunter2");
    }

    @Test
    void gives128AndTheSignalThatEndedTheCommand() {
        assertThat(tool.run("run", "x", "--", "sh", "-c", "kill -TERM $$").exit())
                .isEqualTo(128 + 15);
        assertThat(tool.run("run", "x", "--", "sh", "-c", "kill -KILL $$").exit())
                .isEqualTo(128 + 9);
    }

    @Test
    void gives127And126ForCommandsThatCannotRun() throws IOException {
        Result missing = tool.run("run", "x", "--", "no-such-program");
        assertThat(missing.exit()).isEqualTo(127);
        assertThat(missing.err())
                .startsWith("holdfast: no-such-program was not found in PATH")
                .hasLineCount(1);
        assertThat(tool.run("run", "x", "--", "./no-such-file").exit()).isEqualTo(127);
        Files.writeString(tool.file("plain"), "text");
        assertThat(tool.run("run", "x", "--", "./plain").exit()).isEqualTo(126);
        assertThat(tool.run("run", "x", "--", "/").exit()).isEqualTo(126);
    }

    @Test
    void passesArgumentsUntouched() {
        String[] odd = {"a b", "", "new\nline", "q'\"$HOME`\\", "@file", "-n", "--", "*", "é☃"};
        List<String> command = new ArrayList<>(List.of("run", "x", "--", "printf", "[%s]"));
        command.addAll(List.of(odd));
        assertThat(tool.run(command.toArray(String[]::new)).out()).isEqualTo("[" + String.join("][", odd) + "]");
    }

    @Test
    void passesStandardInputThrough() {
        assertThat(tool.startWith("one\ntwo\n", "run", "x", "--", "cat").await().out())
                .isEqualTo("one\ntwo\n");
    }

    @Test
    void givesTheCommandItsLockAndKeepsTheRestOfTheEnvironment() {
        tool.with("spring.profiles.active", "kept")
                .with("session", "kept too")
                .with("HOLDFAST_TOKENS", "of an outer run");
        long before = System.currentTimeMillis();
        String environment = tool.run("run", "--lease", "1h", "x", "--", "env").out();
        assertThat(environment).contains("\nHOLDFAST_LOCK=x\n", "spring.profiles.active=kept\n", "session=kept too\n");
        assertThat(environment).containsPattern("\nHOLDFAST_OWNER=[\\w-]{16}\n").doesNotContain("HOLDFAST_TOKENS");
        assertThat(number(environment, "HOLDFAST_TOKEN") % 1024).isZero();
        assertThat(number(environment, "HOLDFAST_DEADLINE_MS"))
                .isBetween(before + 3_500_000, System.currentTimeMillis() + 3_600_000);
    }

    private static long number(String environment, String name) {
        int at = environment.indexOf("\n" + name + "=") + name.length() + 2;
        return Long.parseLong(environment.substring(at, environment.indexOf('\n', at)));
    }

    /** Shells drop variables with such names, or cannot export them. */
    @Test
    void keepsVariablesWithOddNames() {
        List<String> names = List.of(
                "spring.datasource.password",
                "BASH_FUNC_module%%",
                "-u",
                "1st",
                "with space",
                "new\nline",
                "it's",
                "back\\slash",
                "back\\'",
                "`$(reboot)${HOME}\"#",
                "HOLDFAST_VARIABLE_0.x");
        String value = "() { ' \" ` $HOME ${HOME} \\\\ \\n = #";
        names.forEach(name -> tool.with(name, name + value));
        String environment = tool.with("HOLDFAST_VARIABLE_2", "of the user")
                .run("run", "x", "--", "env", "-0")
                .out();
        assertThat(environment.split("\0"))
                .contains(names.stream().map(name -> name + "=" + name + value).toArray(String[]::new))
                .contains("HOLDFAST_VARIABLE_2=of the user")
                .filteredOn(variable -> variable.startsWith("HOLDFAST_VARIABLE_"))
                .hasSize(2);
    }

    @Test
    void aProgramMayHaveAnEqualsSignInItsPathBesideThem() throws IOException {
        Files.writeString(tool.file("a=b"), "#!/bin/sh\nenv; exit 3\n");
        assertThat(tool.file("a=b").toFile().setExecutable(true)).isTrue();
        Result result = tool.with("spring.profiles.active", "kept").run("run", "x", "--", "./a=b");
        assertThat(result.exit()).as(result.err()).isEqualTo(3);
    }

    @Test
    void givesATokenForEachOfSeveralNames() {
        String tokens = tool.run(
                        "run", "-k", "a=b", "z", "--", "sh", "-c", "echo $HOLDFAST_LOCK; echo \"$HOLDFAST_TOKENS\"")
                .out();
        assertThat(tokens).matches("z\na=b=[0-9]+\nz=[0-9]+\n");
    }

    @Test
    void laterRunsHaveLargerTokens() {
        long first = Long.parseLong(tool.run("run", "x", "--", "sh", "-c", "echo $HOLDFAST_TOKEN")
                .out()
                .strip());
        long second = Long.parseLong(tool.run("run", "x", "--", "sh", "-c", "echo $HOLDFAST_TOKEN")
                .out()
                .strip());
        assertThat(second).isGreaterThan(first);
    }

    @Test
    void doesNotWaitWithNAndWaitsNoLongerThanW() {
        Running holder = tool.start("run", "x", "--", "sh", "-c", "echo $$ > held; " + Tool.UNTIL_SIGNAL);
        tool.await("held");
        Result busy = tool.run("run", "-n", "x", "--", "touch", "ran");
        assertThat(busy.exit()).isEqualTo(1);
        assertThat(busy.err())
                .startsWith("holdfast: \"x\" was not free, so the command was not run: 'holdfast show NAME'")
                .hasLineCount(1);
        assertThat(tool.run("run", "-n", "-E", "75", "x", "--", "touch", "ran").exit())
                .isEqualTo(75);
        assertThat(tool.run("run", "-w", "0.2", "x", "--", "touch", "ran").exit())
                .isEqualTo(1);
        assertThat(tool.file("ran")).doesNotExist();
        holder.signal("TERM");
        assertThat(holder.await().exit()).isEqualTo(143);
        assertThat(tool.run("run", "-n", "x", "--", "true").exit()).isZero();
    }

    @Test
    void takesReadAndWriteLocksAndSemaphores() {
        Running reader = tool.start("run", "-s", "x", "--", "sh", "-c", "echo $$ > held; " + Tool.UNTIL_SIGNAL);
        tool.await("held");
        assertThat(tool.run("run", "-n", "-s", "x", "--", "true").exit()).isZero();
        assertThat(tool.run("run", "-n", "-x", "x", "--", "true").exit()).isEqualTo(1);
        Result otherKind = tool.run("run", "-n", "x", "--", "true");
        assertThat(otherKind.exit()).isEqualTo(64);
        assertThat(otherKind.err()).contains("read-write lock");
        reader.signal("TERM");
        reader.await();

        Running two = tool.start(
                "run", "--permits", "2", "--of", "3", "s", "--", "sh", "-c", "echo $$ > two; " + Tool.UNTIL_SIGNAL);
        tool.await("two");
        assertThat(tool.run("run", "-n", "--of", "3", "s", "--", "true").exit()).isZero();
        assertThat(tool.run("run", "-n", "--permits", "2", "--of", "3", "s", "--", "true")
                        .exit())
                .isEqualTo(1);
        two.signal("TERM");
        two.await();
    }

    @Test
    void takesSeveralNamesTogether() {
        Running holder = tool.start("run", "-k", "b", "a", "--", "sh", "-c", "echo $$ > held; " + Tool.UNTIL_SIGNAL);
        tool.await("held");
        assertThat(tool.run("run", "-n", "a", "--", "true").exit()).isEqualTo(1);
        assertThat(tool.run("run", "-n", "b", "--", "true").exit()).isEqualTo(1);
        assertThat(tool.run("run", "-n", "-k", "b", "c", "--", "true").exit()).isEqualTo(1);
        assertThat(tool.run("run", "-n", "c", "--", "true").exit()).isZero();
        holder.signal("TERM");
        holder.await();
    }

    @Test
    void twentyProcessesCountToTwenty() throws IOException {
        Files.writeString(tool.file("f"), "0\n");
        List<Running> running = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            running.add(tool.start(
                    "run", "-w", "60s", "counter", "--", "sh", "-c", "n=$(cat f); sleep 0.01; echo $((n+1)) > f"));
        }
        running.forEach(run -> assertThat(run.await()).isEqualTo(new Result(0, "", "")));
        assertThat(tool.text("f")).isEqualTo("20\n");
    }

    @Test
    void leavesAloneWhatTheCommandLeftInTheBackground() {
        String command =
                "sh -c 'echo $$ > pid; echo " + folder + "; exec sleep 60' & while ! [ -s pid ]; do sleep 0.01; done";
        assertThat(tool.run("run", "x", "--", "sh", "-c", command).exit()).isZero();
        Tool.sleep(Duration.ofMillis(300));
        String pid = tool.await("pid");
        assertThat(Tool.isAlive(pid)).isTrue();
        Signals.send("KILL", Long.parseLong(pid));
    }

    @Test
    void aStoreThatCannotBeOpenedIs69() {
        Result result = tool.with("HOLDFAST_STORE", "sqlite:/proc/no/such/folder/locks.db")
                .run("run", "x", "--", "true");
        assertThat(result.exit()).isEqualTo(69);
        assertThat(result.err()).startsWith("holdfast: ").hasLineCount(1);
        assertThat(tool.with("HOLDFAST_STORE", "nosuch:store")
                        .run("run", "x", "--", "true")
                        .exit())
                .isEqualTo(64);
    }

    @Test
    void keepsLocksInTheStateFolderByDefault() throws IOException {
        tool.with("HOLDFAST_STORE", "")
                .with("XDG_STATE_HOME", folder.resolve("state").toString());
        assertThat(tool.run("run", "x", "--", "true")).isEqualTo(new Result(0, "", ""));
        assertThat(folder.resolve("state/holdfast/locks.db")).exists();
        assertThat(Files.getPosixFilePermissions(folder.resolve("state/holdfast")))
                .hasSize(3);
    }
}
