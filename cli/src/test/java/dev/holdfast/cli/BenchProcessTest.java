package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.Tool.Result;
import dev.holdfast.cli.Tool.Running;
import java.io.File;
import org.junit.jupiter.api.Test;

/** The bench command on a SQLite file. */
class BenchProcessTest extends ToolTest {

    @Test
    void runsItsWorkloadsAndLeavesNothingHeld() {
        // A pair that takes longer than its workload is not shown, and the first pair of a new JVM took half a second
        // on a busy machine.
        Result bench = tool.run(
                "bench", "--workload", "free,processes,hand-off,signal,held", "--duration", "1s", "--locks", "20");
        assertThat(bench.err()).contains("1 of 5: free", "5 of 5: held").doesNotContain("fail");
        assertThat(bench.exit()).isZero();
        assertThat(bench.out())
                .containsPattern("(?m)^free +a free lock, 1 thread +[\\d,]+/s, pair p50 ")
                .containsPattern("(?m)^processes .*/s, wait p50 .*, process \\S+")
                .containsPattern("(?m)^hand-off .*/s, wait p50 ")
                .containsPattern("(?m)^signal .*/s, wait p50 ")
                .containsPattern("(?m)^held .*20 held, 0 lost");
        assertThat(tool.run("list").out()).isEqualTo("no locks are in use\n");
        assertThat(benchFolders()).isEmpty();
    }

    @Test
    void refusesNamesThatAreInUse() {
        Running holder =
                tool.start("run", "holdfast-bench/x", "--", "sh", "-c", "echo here > here; " + Tool.UNTIL_SIGNAL);
        tool.await("here");
        Result refused = tool.run("bench", "--workload", "free", "--duration", "100ms");
        assertThat(refused.exit()).isEqualTo(64);
        assertThat(refused.err())
                .contains("\"holdfast-bench/x\" is in use", "--prefix")
                .hasLineCount(1);
        assertThat(tool.run("bench", "--workload", "free", "--duration", "100ms", "--prefix", "other/")
                        .exit())
                .isZero();
        holder.signal("TERM");
        holder.await();
    }

    @Test
    void refusesWhatItCannotDo() {
        assertThat(tool.run("bench", "--duration", "2h").err()).contains("--duration must be");
        assertThat(tool.run("bench", "--locks", "0").exit()).isEqualTo(64);
        assertThat(tool.run("bench", "--workload", "fast").err()).contains("there is no workload \"fast\"", "free-16");
        assertThat(tool.run("bench", "--store", "memory:", "--workload", "processes")
                        .err())
                .contains("several processes");
    }

    @Test
    void whenASignalEndsItNothingIsLeft() {
        Running bench = tool.start("bench", "--workload", "held", "--duration", "50s", "--locks", "5");
        Tool.await("locks", () -> tool.run("list").out().contains("held-4"));
        // A shell that starts the tests in the background has their processes ignore INT, and such a bench would run to
        // its end.
        bench.signal("TERM");
        assertThat(bench.await().exit()).isEqualTo(143);
        assertThat(tool.run("list").out()).isEqualTo("no locks are in use\n");
        assertThat(benchFolders()).isEmpty();
    }

    private File[] benchFolders() {
        File[] found = folder.toFile().listFiles((in, name) -> name.startsWith("holdfast-bench-"));
        return found == null ? new File[0] : found;
    }
}
