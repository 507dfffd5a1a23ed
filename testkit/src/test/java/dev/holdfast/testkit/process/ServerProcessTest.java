package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ServerProcessTest {

    /** A test that is stopped while its server runs. */
    static final class StoppedTest {
        public static void main(String[] arguments) throws IOException {
            ServerProcess server = new ServerProcess("sleep");
            server.start("sleep", "600");
            System.out.println("STARTED " + server.pid() + " " + server.folder());
            System.in.read();
        }
    }

    @Test
    void serverEndsWithItsJvmAndLeavesNoFiles() {
        try (ChildJvm test = ChildJvm.start(StoppedTest.class)) {
            String[] started = test.expect("STARTED").split(" ");
            ProcessHandle server = ProcessHandle.of(Long.parseLong(started[0])).orElseThrow();
            assertThat(server.isAlive()).isTrue();
            assertThat(Path.of(started[1])).exists();
            Signals.send("TERM", test.pid());
            test.awaitExit();
            assertThat(server.isAlive()).isFalse();
            assertThat(Path.of(started[1])).doesNotExist();
            assertThat(Path.of(started[1] + ".log")).doesNotExist();
        }
    }
}
