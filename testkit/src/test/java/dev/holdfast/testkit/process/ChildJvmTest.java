package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ChildJvmTest {

    /** Prints each line that it reads, in capitals. */
    static final class Echo {
        public static void main(String[] arguments) throws IOException {
            System.out.println("READY " + String.join(",", arguments));
            System.err.println("on the error stream");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                if (line.equals("exit")) {
                    System.exit(3);
                }
                System.out.println("ECHO " + line.toUpperCase(java.util.Locale.ROOT));
            }
        }
    }

    @Test
    void talksInLines() {
        try (ChildJvm child = ChildJvm.start(Echo.class, "one", "two")) {
            assertThat(child.expect("READY")).isEqualTo("one,two");
            child.send("hello");
            assertThat(child.readLine()).isEqualTo("ECHO HELLO");
            child.send("exit");
            assertThat(child.awaitExit()).isEqualTo(3);
            assertThatThrownBy(child::readLine)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("exit code 3")
                    .hasMessageContaining("stderr: on the error stream");
        }
    }

    @Test
    void isPausedAndResumed() {
        try (ChildJvm child = ChildJvm.start(Echo.class)) {
            child.expect("READY");
            child.pause();
            child.send("while paused");
            assertThatThrownBy(() -> child.readLine(Duration.ofMillis(100)))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("did not print");
            child.resume();
            assertThat(child.expect("ECHO")).isEqualTo("WHILE PAUSED");
        }
    }

    @Test
    void isEndedWhateverItsState() {
        ChildJvm paused = ChildJvm.start(Echo.class);
        paused.expect("READY");
        paused.pause();
        paused.close();
        assertThat(paused.isAlive()).isFalse();
        paused.close();
        ChildJvm killed = ChildJvm.start(Echo.class);
        killed.kill();
        assertThat(killed.isAlive()).isFalse();
        assertThat(killed.awaitExit()).isEqualTo(128 + 9);
        killed.close();
    }

    @Test
    void waitsAreBounded() {
        try (ChildJvm child = ChildJvm.start(Echo.class)) {
            child.expect("READY");
            assertThatThrownBy(() -> child.expect("NEVER", Duration.ofMillis(50)))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("NEVER");
        }
    }
}
