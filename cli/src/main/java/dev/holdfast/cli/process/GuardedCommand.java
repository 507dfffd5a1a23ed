package dev.holdfast.cli.process;

import dev.holdfast.cli.output.Trace;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A command that runs for as long as something is held, and is ended before that is lost.
 *
 * @param session how its group is made
 * @param command the program and its arguments
 */
public record GuardedCommand(NewSession session, List<String> command, SignalRelay signals, Trace trace) {

    /**
     * How the command ended.
     *
     * @param status its exit status
     * @param byGuard whether the guard ended it because what it ran for was about to be lost
     */
    public record Ended(int status, boolean byGuard) {}

    /**
     * Runs it to its end, which is that of its first process if this ends by itself. If the guard has signalled it to end,
     * it is that of all whom the signal was meant for: whoever is left would work on beside the next holder.
     *
     * @param pipe for this command only
     * @param environment variables to set; an empty value removes one
     * @param guarded gets the guard when it is at work, to notify it of a loss
     */
    public Ended run(
            ControlPipe pipe,
            Map<String, String> environment,
            LossGuard.Holding holding,
            KillSchedule schedule,
            Consumer<LossGuard> guarded) {
        Duration left = holding.remaining();
        signals.commandStarts();
        ChildGroup child = ChildGroup.start(pipe, session, command, environment);
        LossGuard guard;
        try {
            guard = LossGuard.start(holding, schedule.within(left), child);
            guarded.accept(guard);
            signals.forwardTo(child, guard);
        } catch (RuntimeException | Error noGuard) {
            // Without a guard nobody would end the command in time, so it must not run.
            child.kill();
            child.await();
            throw noGuard;
        }
        trace.say("started process " + child.pid());
        int status = child.await();
        boolean byGuard = guard.finish();
        signals.commandEnded();
        child.dismiss();
        trace.say("the command ended with " + status);
        return new Ended(status, byGuard);
    }
}
