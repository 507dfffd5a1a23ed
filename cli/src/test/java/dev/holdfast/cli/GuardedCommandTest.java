package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.output.Trace;
import dev.holdfast.cli.process.CommandPath;
import dev.holdfast.cli.process.ControlPipe;
import dev.holdfast.cli.process.GuardedCommand;
import dev.holdfast.cli.process.GuardedCommand.Ended;
import dev.holdfast.cli.process.KillSchedule;
import dev.holdfast.cli.process.LossGuard;
import dev.holdfast.cli.process.NewSession;
import dev.holdfast.cli.process.OnLost;
import dev.holdfast.cli.process.SignalRelay;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * How a command is ended before what it runs for is lost, and when it is over. The test says what is left of the lease,
 * so that nothing depends on time.
 */
class GuardedCommandTest extends ToolTest {

    private static final Duration LEASE = Duration.ofHours(2);
    private static final Duration GRACE = Duration.ofHours(1);
    private static final Duration LESS_THAN_GRACE = Duration.ofMinutes(50);

    private volatile Duration left = LEASE;
    private final CompletableFuture<LossGuard> guard = new CompletableFuture<>();

    /** How it ended, and whether its child was alive when the lock would have been freed. */
    private record Outcome(Ended ended, boolean childIsAlive) {}

    /** A child that outlives SIGTERM, and ends when it may. */
    private String child() {
        return "trap \"echo told > " + tool.file("told") + "\" TERM; echo $$ > " + tool.file("inner")
                + "; i=0; while [ ! -e " + tool.file("end")
                + " ] && [ $i -lt 12000 ]; do sleep 0.05; i=$((i + 1)); done"
                + "; echo done > " + tool.file("done");
    }

    /** Runs a command whose first process ends by SIGTERM, and starts the child in this way. */
    private CompletableFuture<Outcome> start(OnLost onLost, String shell, String how) {
        String script =
                how.replace("CHILD", "sh -c '" + child() + "' 2>&-") + " & echo $$ > " + tool.file("outer") + "; wait";
        CompletableFuture<Outcome> outcome = CompletableFuture.supplyAsync(() -> {
            SignalRelay signals = new SignalRelay(Thread.currentThread());
            try (ControlPipe pipe = ControlPipe.create()) {
                Ended ended = new GuardedCommand(
                                NewSession.find(CommandPath.ofEnvironment()),
                                List.of(shell, "-c", script),
                                signals,
                                new Trace(false, System.err, 0))
                        .run(
                                pipe,
                                Map.of(),
                                () -> left,
                                new KillSchedule(onLost, GRACE, KillSchedule.margin(LEASE)),
                                guard::complete);
                return new Outcome(ended, Tool.isAlive(tool.await("inner")));
            } finally {
                signals.waitAgain();
            }
        });
        tool.await("outer");
        tool.await("inner");
        return outcome;
    }

    private void leave(Duration time) {
        left = time;
        guard.join().lost();
    }

    private void awaitEndOfFirstProcess() {
        String first = tool.await("outer");
        Tool.await("the end of the first process", () -> !Tool.isAlive(first));
    }

    @ParameterizedTest
    @CsvSource({
        "in the group,                 sh,   CHILD",
        "in a session of its own,      sh,   setsid CHILD",
        "in another group,             bash, set -m; CHILD",
    })
    void whatOutlivesTheFirstProcessIsKilledBeforeTheLockIsFree(String where, String shell, String how) {
        CompletableFuture<Outcome> run = start(OnLost.TERM, shell, how);
        leave(LESS_THAN_GRACE);
        awaitEndOfFirstProcess();
        leave(Duration.ZERO);
        assertThat(run.join()).isEqualTo(new Outcome(new Ended(128 + 15, true), false));
        assertThat(tool.text("done")).as("it was killed").isEmpty();
    }

    @Test
    void whatOutlivesTheFirstProcessMayEndInItsTime() {
        CompletableFuture<Outcome> run = start(OnLost.TERM, "sh", "CHILD");
        leave(LESS_THAN_GRACE);
        tool.await("told");
        awaitEndOfFirstProcess();
        assertThat(run).isNotDone();
        tool.letEnd();
        assertThat(run.join()).isEqualTo(new Outcome(new Ended(128 + 15, true), false));
        assertThat(tool.text("done")).isNotEmpty();
    }

    /** A command that was stopped must be continued to handle the SIGTERM that it has got. */
    @Test
    void aCommandThatWasAskedToEndMayContinueWhileTheLockIsHeld() {
        CompletableFuture<Outcome> run = start(OnLost.TERM, "sh", "CHILD");
        assertThat(guard.join().mayContinue()).isTrue();
        leave(LESS_THAN_GRACE);
        tool.await("told");
        assertThat(guard.join().mayContinue()).isTrue();
        leave(Duration.ZERO);
        assertThat(guard.join().mayContinue()).isFalse();
        run.join();
    }

    @Test
    void aCommandThatIgnoresTheLossMayAlwaysContinue() {
        CompletableFuture<Outcome> run = start(OnLost.IGNORE, "sh", "CHILD");
        leave(Duration.ZERO);
        assertThat(guard.join().mayContinue()).isTrue();
        tool.letEnd();
        assertThat(run.join()).isEqualTo(new Outcome(new Ended(0, false), false));
    }
}
