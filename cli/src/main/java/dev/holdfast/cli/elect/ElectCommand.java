package dev.holdfast.cli.elect;

import dev.holdfast.Holdfast;
import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.output.Json;
import dev.holdfast.cli.output.Table;
import dev.holdfast.cli.output.Trace;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.ElectionOptions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code holdfast elect}: checks which options go together, then stands for election, or shows who leads. */
@Command(
        name = "elect",
        header = "Run a command while this process is the leader.",
        customSynopsis = {
            "holdfast elect [OPTIONS] NAME -- COMMAND [ARG...]",
            "holdfast elect --status [--json] [--store URL] NAME"
        },
        description = {
            "",
            "Waits until it is elected, runs COMMAND, and ends it before anybody else can be elected. If the term was lost, it"
                    + " stands for election again. When COMMAND ends by itself, the tool resigns and exits with its code.",
            "",
            "COMMAND finds HOLDFAST_LOCK, HOLDFAST_TOKEN, HOLDFAST_OWNER and HOLDFAST_DEADLINE_MS in its environment.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  holdfast elect --id node-7 billing -- ./billing.sh",
            "  holdfast elect --status billing",
            "",
            "Exit codes: the command's own; 128+n if signal n ended it or the wait; with --status 0 if somebody leads, else 1;"
                    + " 64 usage; 69 store unreachable at the start; 70 internal; 126 not executable; 127 not found."
        })
public final class ElectCommand implements Callable<Integer> {

    private final List<String> command;
    private final long startNanos;

    @Option(
            names = "--id",
            paramLabel = "TEXT",
            description = "By which people know this candidate. Default: a random id.")
    private String id = "";

    @Option(
            names = "--payload",
            paramLabel = "TEXT",
            description = "What the candidate proclaims, such as its address.")
    private String payload = "";

    @Option(
            names = "--lease",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "How long a leader that died stays elected. 100ms to 24h. Default: 15s.")
    private @Nullable Duration lease;

    @Option(
            names = "--grace",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description =
                    "How long before the term is lost COMMAND gets SIGTERM. At most half the lease. Default: a sixth"
                            + " of the lease, at most 5s.")
    private @Nullable Duration grace;

    @Option(names = "--status", description = "Show who leads and who waits, and exit.")
    private boolean status;

    @Option(names = "--json", description = "With --status: write JSON. Tokens are strings there.")
    private boolean json;

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Parameters(arity = "1", paramLabel = "NAME", description = "What is led: 1 to 255 bytes of UTF-8.")
    private String name = "";

    public ElectCommand(List<String> command, long startNanos) {
        this.command = command;
        this.startNanos = startNanos;
    }

    @Override
    public Integer call() {
        if (status) {
            if (!command.isEmpty()) {
                throw Failure.usage("--status runs no command: leave out -- and what follows");
            }
            if (!id.isEmpty() || !payload.isEmpty() || lease != null || grace != null) {
                throw Failure.usage("--status stands for no election: leave out --id, --payload, --lease and --grace");
            }
            return showStatus();
        }
        if (json) {
            throw Failure.usage("--json is about what --status shows: add --status, or leave it out");
        }
        if (command.isEmpty()) {
            throw Failure.usage("there is no command: put it behind --, as in: holdfast elect " + name + " -- COMMAND");
        }
        Trace trace = new Trace(tool.verbose(), System.err, startNanos);
        return new LeaderRun(tool.storeChoice().shared(), name, options(), grace, command, trace).run();
    }

    private ElectionOptions options() {
        try {
            ElectionOptions named = ElectionOptions.defaults().withId(id).withPayload(payload);
            return lease == null ? named : named.withLease(lease);
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage("--id, --payload or --lease is wrong: " + wrong.getMessage());
        }
    }

    private int showStatus() {
        List<Candidate> candidates;
        try (Holdfast locks = tool.storeChoice().shared().connect("elect")) {
            candidates = locks.election(name).candidates();
        }
        System.out.print(json ? json(candidates) : text(candidates));
        return candidates.stream().anyMatch(Candidate::isLeader) ? ExitCode.OK : ExitCode.BUSY;
    }

    private String text(List<Candidate> candidates) {
        if (candidates.isEmpty()) {
            return '"' + name + "\": nobody leads and nobody waits" + System.lineSeparator();
        }
        Table table = new Table();
        table.row("", "ID", "PAYLOAD", "AGE", "TOKEN", "CLIENT");
        candidates.forEach(one -> table.row(
                one.isLeader() ? "leads" : "waits",
                one.id(),
                one.payload().isEmpty() ? "-" : one.payload(),
                DurationConverter.print(one.age()),
                one.isLeader() ? Long.toString(one.token()) : "-",
                one.owner().client() + '@' + one.owner().host() + " pid "
                        + one.owner().pid()));
        return table.toString();
    }

    private String json(List<Candidate> candidates) {
        Json text = new Json();
        text.open('{').name("name").value(name).name("candidates").open('[');
        for (Candidate one : candidates) {
            text.open('{').name("id").value(one.id()).name("payload").value(one.payload());
            if (one.isLeader()) {
                text.name("token").value(Long.toString(one.token()));
            }
            text.name("ageMs").value(one.age().toMillis());
            text.name("client").value(one.owner().client());
            text.name("host")
                    .value(one.owner().host())
                    .name("pid")
                    .value(one.owner().pid());
            text.close('}');
        }
        text.close(']').close('}');
        return text + System.lineSeparator();
    }
}
