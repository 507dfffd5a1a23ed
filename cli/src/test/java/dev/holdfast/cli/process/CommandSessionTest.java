package dev.holdfast.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.StoreTest;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CommandSessionTest {

    /** Linux lists its processes there; another system has no such folder. */
    @ParameterizedTest
    @ValueSource(strings = {"/proc", "/no-such-folder"})
    void isEmptyWhenAllHaveEndedAndNotWhenTheFirstHas(String proc) throws Exception {
        Process first = start("sleep 600 & echo $!");
        CommandSession session = new CommandSession(Path.of(proc), first.pid());
        ProcessHandle other = ProcessHandle.of(output(first)).orElseThrow();
        assertThat(first.waitFor()).isZero();
        assertThat(session.isEmpty()).isFalse();
        assertThat(session.isRunning(other)).isTrue();

        session.kill();

        CommandSession listed = new CommandSession(CommandSession.PROC, first.pid());
        StoreTest.awaitUntil(() -> !listed.isRunning(other));
        assertThat(listed.isEmpty()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/proc", "/no-such-folder"})
    void isEmptyWhenNothingIsLeft(String proc) throws Exception {
        Process first = start("echo 0");
        assertThat(first.waitFor()).isZero();
        assertThat(new CommandSession(Path.of(proc), first.pid()).isEmpty()).isTrue();
    }

    private static Process start(String script) throws IOException {
        return new ProcessBuilder("setsid", "sh", "-c", script)
                .redirectError(Redirect.DISCARD)
                .start();
    }

    private static long output(Process process) throws IOException {
        // One line, and not all, because what goes on in the background holds the pipe open.
        return Long.parseLong(process.inputReader(StandardCharsets.US_ASCII).readLine());
    }
}
