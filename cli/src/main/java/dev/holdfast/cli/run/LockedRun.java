package dev.holdfast.cli.run;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Trace;
import dev.holdfast.cli.process.CommandPath;
import dev.holdfast.cli.process.FuturePipe;
import dev.holdfast.cli.process.GuardedCommand;
import dev.holdfast.cli.process.GuardedCommand.Ended;
import dev.holdfast.cli.process.KillSchedule;
import dev.holdfast.cli.process.NewSession;
import dev.holdfast.cli.process.SignalRelay;
import java.io.File;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One {@code holdfast run}: takes the lock, runs the command, frees the lock, returns the exit code. */
final class LockedRun {

    /** How often a lock may be lost before its command was started; a store that does this is not usable. */
    static final int MAX_LOST_BEFORE_START = 10;

    private final RunPlan plan;
    private final Trace trace;
    private final SignalRelay signals;

    private LockedRun(RunPlan plan, Trace trace) {
        this.plan = plan;
        this.trace = trace;
        this.signals = SignalRelay.install(Thread.currentThread());
    }

    static int run(RunPlan plan, Trace trace) {
        CommandPath path = CommandPath.ofEnvironment();
        File program = path.require(plan.command().get(0));
        NewSession session = NewSession.find(path);
        LockedRun run = new LockedRun(plan, trace);
        trace.say("signals are caught");
        // The pipe is made while the store is opened, because neither needs the other.
        FuturePipe pipe = FuturePipe.begin();
        try (Holdfast locks = plan.store().connect(program.getName())) {
            trace.say("the store is open");
            return run.locked(locks, session, pipe);
        } catch (InterruptedException signalled) {
            return run.gaveUp();
        } catch (RuntimeException failed) {
            if (run.signals.pending() != 0) {
                return run.gaveUp();
            }
            throw failed;
        } finally {
            pipe.close();
            trace.say("done");
        }
    }

    private int gaveUp() {
        trace.say("gave up for signal " + signals.pending());
        return ExitCode.SIGNAL + signals.pending();
    }

    private int locked(Holdfast locks, NewSession session, FuturePipe pipe) throws InterruptedException {
        Lease lease;
        try {
            lease = acquire(locks, plan.request(), plan.options(), plan.maxWait(), trace);
        } catch (LockTimeoutException busy) {
            ErrorReport.say(busyMessage(plan.request(), plan.maxWait()), System.err);
            return plan.busyCode();
        }
        Ended ended;
        LossReason lostAs;
        try {
            if (signals.pending() != 0) {
                return gaveUp();
            }
            ended = new GuardedCommand(session, plan.command(), signals, trace)
                    .run(
                            pipe.get(),
                            environment(locks.clientId(), lease),
                            lease::remaining,
                            new KillSchedule(plan.onLost(), plan.grace(), plan.margin()),
                            guard -> lease.onLost(reason -> guard.lost()));
        } finally {
            lostAs = release(lease);
        }
        if (!ended.byGuard() && lostAs == null) {
            return ended.status();
        }
        ErrorReport.say(lossMessage(ended, lostAs), System.err);
        return ExitCode.LOST;
    }

    /**
     * Acquires the lock with a lease that is long enough to start the command. A grant that was handed to a waiter lives
     * only as long as its queue entry until it is renewed, and the command would be ended at its start. If the grant is
     * over before it could be renewed, which happens on an overloaded machine, then nothing has run yet and the wait
     * goes on.
     *
     * <p>If the store does not answer, the close of the client releases what it holds.
     *
     * @param maxWait null to wait for ever
     */
    static Lease acquire(
            Holdfast locks, LockRequest request, LockOptions options, @Nullable Duration maxWait, Trace trace)
            throws InterruptedException {
        long begun = System.nanoTime();
        for (int lost = 0; ; lost++) {
            Lease lease = request.acquire(locks, options, maxWait == null ? null : left(maxWait, begun));
            trace.say("holding " + request.title());
            try {
                renewIfShort(lease, options.lease(), trace);
                return lease;
            } catch (LockLostException beforeTheStart) {
                if (lost == MAX_LOST_BEFORE_START) {
                    throw beforeTheStart;
                }
                trace.say("lost it before the command was started (" + beforeTheStart.reason() + "), waiting again");
            }
        }
    }

    /** What a busy lock is answered with. The library's own message names methods of Java; here people have the tool. */
    static String busyMessage(LockRequest request, @Nullable Duration maxWait) {
        String free = request.names().size() == 1 ? " was not free" : " were not all free";
        String time = maxWait == null || maxWait.isZero() ? "" : " within " + DurationConverter.print(maxWait);
        return request.title() + free + time
                + ", so the command was not run: 'holdfast show NAME' shows who holds a lock";
    }

    private static Duration left(Duration maxWait, long begun) {
        Duration left = maxWait.minusNanos(System.nanoTime() - begun);
        return left.isNegative() ? Duration.ZERO : left;
    }

    private static void renewIfShort(Lease lease, Duration whole, Trace trace) {
        if (lease.remaining().compareTo(whole.dividedBy(2)) < 0) {
            lease.extend(whole);
            trace.say("renewed the lease");
        }
    }

    private @Nullable LossReason release(Lease lease) {
        try {
            lease.release();
            trace.say("released");
            return null;
        } catch (LockLostException lost) {
            return lost.reason();
        }
    }

    private String lossMessage(Ended ended, @Nullable LossReason reason) {
        String why = reason != null
                ? "was lost (" + reason + ")"
                : "was about to be lost: its lease could not be renewed, or --max-hold was over";
        String command = ended.byGuard()
                ? "the command was ended before it was done"
                : "the command went on without it and ended with " + ended.status();
        return plan.request().title() + " " + why + "; " + command + ": check what it left behind, then run it again";
    }

    /** The variables for the command; an empty value removes one, which an outer run may have set. */
    private Map<String, String> environment(String owner, Lease lease) {
        List<String> names = plan.request().names();
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put("HOLDFAST_LOCK", names.get(0));
        variables.put("HOLDFAST_TOKEN", Long.toString(lease.token(names.get(0))));
        variables.put("HOLDFAST_TOKENS", names.size() == 1 ? "" : tokens(lease));
        variables.put("HOLDFAST_OWNER", owner);
        long deadline = System.currentTimeMillis() + lease.remaining().toMillis();
        variables.put("HOLDFAST_DEADLINE_MS", Long.toString(deadline));
        return variables;
    }

    /** A line NAME=TOKEN for each name; a name may contain {@code =}, so the last one is the separator. */
    private static String tokens(Lease lease) {
        StringBuilder lines = new StringBuilder();
        for (String name : lease.names()) {
            lines.append(lines.isEmpty() ? "" : "\n").append(name).append('=').append(lease.token(name));
        }
        return lines.toString();
    }
}
