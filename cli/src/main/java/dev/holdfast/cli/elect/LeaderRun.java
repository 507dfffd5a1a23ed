package dev.holdfast.cli.elect;

import dev.holdfast.Holdfast;
import dev.holdfast.LockException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.option.StoreChoice;
import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.output.Trace;
import dev.holdfast.cli.process.CommandPath;
import dev.holdfast.cli.process.FuturePipe;
import dev.holdfast.cli.process.GuardedCommand;
import dev.holdfast.cli.process.KillSchedule;
import dev.holdfast.cli.process.LossGuard;
import dev.holdfast.cli.process.NewSession;
import dev.holdfast.cli.process.OnLost;
import dev.holdfast.cli.process.SignalRelay;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.spi.StoreException;
import java.io.File;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One {@code holdfast elect}: runs the command in each term, until it ends by itself. */
final class LeaderRun {

    /** No command has ended by itself yet. */
    private static final int NONE = -1;

    private final StoreChoice store;
    private final String name;
    private final ElectionOptions options;
    private final Duration grace;
    private final Trace trace;
    private final SignalRelay signals;
    private final GuardedCommand command;
    private final File program;

    private int status = NONE;
    /** Whether it has led once. */
    private volatile boolean hasLed;
    /** Why it can never lead; null while it may. */
    private volatile @Nullable LockException refusal;
    /** The guard of the present command; null if there is none. */
    private volatile @Nullable LossGuard guard;

    LeaderRun(
            StoreChoice store,
            String name,
            ElectionOptions options,
            @Nullable Duration grace,
            List<String> words,
            Trace trace) {
        this.store = store;
        this.name = name;
        this.options = options;
        this.grace = grace == null ? KillSchedule.defaultGrace(options.lease()) : grace;
        Duration most = KillSchedule.mostGrace(options.lease());
        if (this.grace.compareTo(most) > 0) {
            throw Failure.usage(
                    "--grace must be at most half of --lease, here " + DurationConverter.print(most) + ", but was "
                            + DurationConverter.print(this.grace) + ": a lease is renewed when a third of it is over");
        }
        this.trace = trace;
        CommandPath path = CommandPath.ofEnvironment();
        this.program = path.require(words.get(0));
        this.signals = SignalRelay.install(Thread.currentThread());
        this.command = new GuardedCommand(NewSession.find(path), words, signals, trace);
    }

    int run() {
        try (Holdfast locks = store.connect(program.getName());
                Election election = locks.election(name, options)) {
            election.onLost(reason -> {
                trace.say("the term has ended (" + reason + ")");
                LossGuard present = guard;
                if (present != null) {
                    present.lost();
                }
            });
            Thread self = Thread.currentThread();
            election.onFailure(failure -> failed(failure, self));
            trace.say("standing for election");
            while (status == NONE) {
                election.run(term -> lead(locks.clientId(), election, term));
            }
            return status;
        } catch (InterruptedException signalled) {
            LockException reason = refusal;
            if (reason != null) {
                throw reason;
            }
            return ExitCode.SIGNAL + signals.pending();
        } catch (RuntimeException failed) {
            if (signals.pending() != 0) {
                return ExitCode.SIGNAL + signals.pending();
            }
            throw failed;
        } finally {
            trace.say("done");
        }
    }

    // A store that refuses the first attempt for good, as a lease that it does not grant, would refuse all
    // others, too. Once it has led, it outlasts whatever is wrong with the store.
    private void failed(LockException failure, Thread standing) {
        if (!hasLed && failure.getCause() instanceof StoreException cause && !cause.retryable()) {
            refusal = failure;
            standing.interrupt();
        } else {
            ErrorReport.say(failure.getMessage() + "; it goes on standing for election", System.err);
        }
    }

    private void lead(String client, Election election, Term term) throws InterruptedException {
        try {
            runCommand(client, election, term);
        } finally {
            // The interrupt of a signal may just be taken for that of the end of the term.
            if (status == NONE && signals.stopAsked() != 0) {
                status = ExitCode.SIGNAL + signals.stopAsked();
                election.close();
            }
        }
    }

    private void runCommand(String client, Election election, Term term) throws InterruptedException {
        hasLed = true;
        trace.say("elected, with token " + term.token());
        if (signals.pending() != 0 || !isRenewed(election, term)) {
            return;
        }
        GuardedCommand.Ended ended;
        try (FuturePipe pipe = FuturePipe.begin()) {
            ended = command.run(
                    pipe.get(),
                    environment(client, term),
                    term::remaining,
                    new KillSchedule(OnLost.TERM, grace, KillSchedule.margin(options.lease())),
                    started -> guard = started);
        } finally {
            guard = null;
        }
        if (ended.byGuard()) {
            ErrorReport.say(
                    "the term of \"" + name + "\" with token " + term.token()
                            + " was lost, or about to be; the command was ended before it was done: check what it left behind",
                    System.err);
            signals.waitAgain();
        } else {
            status = ended.status();
            // Also if the term has just been lost: the command was done before.
            election.close();
        }
    }

    // A grant that was handed to a waiter may live as long as its place in the queue only, until it is renewed; the
    // command would be ended at its start. To proclaim renews. A session may grant less than the lease all the same.
    private boolean isRenewed(Election election, Term term) {
        if (term.remaining().compareTo(options.lease().dividedBy(2)) < 0) {
            try {
                election.proclaim(options.payload());
            } catch (StoreUnavailableException noAnswer) {
                trace.say("could not renew before the start: " + noAnswer.getMessage());
                return false;
            }
        }
        return term.isValid();
    }

    private Map<String, String> environment(String client, Term term) {
        long deadline = System.currentTimeMillis() + term.remaining().toMillis();
        return Map.of(
                "HOLDFAST_LOCK",
                name,
                "HOLDFAST_TOKEN",
                Long.toString(term.token()),
                "HOLDFAST_TOKENS",
                "",
                "HOLDFAST_OWNER",
                client,
                "HOLDFAST_DEADLINE_MS",
                Long.toString(deadline));
    }
}
