package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A test of real processes. Afterwards nothing may be left: no process, no pipe. */
abstract class ToolTest {

    @TempDir
    Path folder;

    Tool tool;

    @BeforeEach
    void makeTool() {
        tool = new Tool(folder);
    }

    @AfterEach
    void leavesNothingBehind() {
        try {
            Tool.await(
                    "the end of " + tool.leftRunning(), () -> tool.leftRunning().isEmpty());
            assertThat(tool.leftPipes()).as("control pipes").isEmpty();
        } finally {
            tool.close();
        }
    }
}
