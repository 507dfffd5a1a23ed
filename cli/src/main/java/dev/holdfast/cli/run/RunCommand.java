package dev.holdfast.cli.run;

import dev.holdfast.LockOptions;
import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.option.StoreChoice;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.output.Trace;
import dev.holdfast.cli.process.KillSchedule;
import dev.holdfast.cli.process.OnLost;
import dev.holdfast.cli.run.LockRequest.Kind;
import dev.holdfast.spi.Claim;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code holdfast run}: checks which options go together, and makes a plan from them. */
public final class RunCommand implements Callable<Integer> {

    /** What follows {@code --}. It is cut off before the options are parsed, so that nothing can change it. */
    private final List<String> command;

    private final long startNanos;
    private final CommandSpec spec;

    public RunCommand(List<String> command, long startNanos) {
        this.command = command;
        this.startNanos = startNanos;
        this.spec = RunOptions.spec(this);
    }

    public CommandSpec spec() {
        return spec;
    }

    @Override
    public Integer call() {
        RunPlan plan = plan(spec.commandLine().getParseResult());
        Trace trace = new Trace(plan.verbose(), System.err, startNanos);
        trace.say("the command line is read");
        return LockedRun.run(plan, trace);
    }

    /** @throws Failure with 64 if the options do not go together */
    RunPlan plan(ParseResult given) {
        String name = given.matchedPositionalValue(0, "");
        if (command.isEmpty()) {
            String shown = given.hasMatchedPositional(0) ? name : "NAME";
            throw Failure.usage("there is no command: put it behind --, as in: holdfast run " + shown + " -- COMMAND");
        }
        int busyCode = given.matchedOptionValue(RunOptions.BUSY_CODE, ExitCode.BUSY);
        if (busyCode < 0 || busyCode > 255) {
            throw Failure.usage("-E must be 0 to 255, but was " + busyCode);
        }
        Duration lease = given.matchedOptionValue(
                RunOptions.LEASE, LockOptions.defaults().lease());
        OnLost onLost = onLost(given.matchedOptionValue(RunOptions.ON_LOST, "term"));
        Duration maxHold = given.matchedOptionValue(RunOptions.MAX_HOLD, null);
        Duration held = maxHold == null || maxHold.compareTo(lease) > 0 ? lease : maxHold;
        return new RunPlan(
                StoreChoice.of(given.matchedOptionValue(RunOptions.STORE, null)).shared(),
                request(given, name),
                options(lease, maxHold),
                maxWait(given),
                onLost,
                grace(given.matchedOptionValue(RunOptions.GRACE, null), held, onLost),
                KillSchedule.margin(held),
                busyCode,
                given.hasMatchedOption(RunOptions.VERBOSE),
                command);
    }

    private static @Nullable Duration maxWait(ParseResult given) {
        Duration wait = given.matchedOptionValue(RunOptions.WAIT, null);
        if (!given.hasMatchedOption(RunOptions.NONBLOCK)) {
            return wait;
        } else if (wait != null) {
            throw Failure.usage("-n does not wait and -w does: give one of them");
        }
        return Duration.ZERO;
    }

    private static LockRequest request(ParseResult given, String name) {
        boolean shared = given.hasMatchedOption(RunOptions.SHARED);
        boolean exclusive = given.hasMatchedOption(RunOptions.EXCLUSIVE);
        boolean semaphore = given.hasMatchedOption(RunOptions.PERMITS) || given.hasMatchedOption(RunOptions.OF);
        if ((shared ? 1 : 0) + (exclusive ? 1 : 0) + (semaphore ? 1 : 0) > 1) {
            throw Failure.usage("-s, -x and --permits K --of N are three kinds of lock: give one of them");
        }
        String[] keys = given.matchedOptionValue(RunOptions.KEY, new String[0]);
        if (keys.length > 0 && (shared || exclusive || semaphore)) {
            throw Failure.usage("-k takes several mutexes: it does not go with -s, -x, --permits or --of");
        }
        if (semaphore) {
            return semaphore(
                    name,
                    given.matchedOptionValue(RunOptions.PERMITS, null),
                    given.matchedOptionValue(RunOptions.OF, null));
        }
        List<String> names = new ArrayList<>(List.of(name));
        names.addAll(Arrays.asList(keys));
        return new LockRequest(names, shared ? Kind.READ : exclusive ? Kind.WRITE : Kind.MUTEX, 1, 1);
    }

    private static LockRequest semaphore(String name, @Nullable Integer permits, @Nullable Integer limit) {
        if (limit == null) {
            throw Failure.usage("--permits needs --of N: how many permits there are in all");
        }
        if (limit < 1 || limit > Claim.MAX_SEMAPHORE) {
            throw Failure.usage("--of must be 1 to " + Claim.MAX_SEMAPHORE + ", but was " + limit);
        }
        int wanted = permits == null ? 1 : permits;
        if (wanted < 1 || wanted > limit) {
            throw Failure.usage("--permits must be 1 to " + limit + " (--of), but was " + wanted);
        }
        return new LockRequest(List.of(name), Kind.SEMAPHORE, wanted, limit);
    }

    private static LockOptions options(Duration lease, @Nullable Duration maxHold) {
        try {
            LockOptions options = LockOptions.defaults().withLease(lease);
            return maxHold == null ? options : options.withMaxHold(maxHold);
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage("--lease or --max-hold is wrong: " + wrong.getMessage());
        }
    }

    private static OnLost onLost(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "term" -> OnLost.TERM;
            case "kill" -> OnLost.KILL;
            case "ignore" -> OnLost.IGNORE;
            default -> throw Failure.usage("--on-lost must be term, kill or ignore, but was \"" + text + "\"");
        };
    }

    /** @param held how long the lock is held without a renewal: the lease, or less if --max-hold ends it before */
    private static Duration grace(@Nullable Duration grace, Duration held, OnLost onLost) {
        if (grace == null) {
            return KillSchedule.defaultGrace(held);
        }
        if (onLost != OnLost.TERM) {
            throw Failure.usage("--grace is the time between SIGTERM and SIGKILL: it goes with --on-lost term only");
        }
        Duration most = KillSchedule.mostGrace(held);
        if (grace.compareTo(most) > 0) {
            throw Failure.usage("--grace must be at most half of --lease and of --max-hold, here "
                    + DurationConverter.print(most) + ", but was " + DurationConverter.print(grace)
                    + ": a lease is renewed when a third of it is over");
        }
        return grace;
    }
}
