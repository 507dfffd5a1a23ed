package dev.holdfast.cli.inspect;

import dev.holdfast.Holdfast;
import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Json;
import dev.holdfast.cli.output.Table;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code holdfast list}: the locks in use. */
@Command(
        name = "list",
        header = "List the locks that somebody holds or waits for.",
        customSynopsis = "holdfast list [--json] [OPTIONS] [PREFIX]",
        description = {"", "AGE is that of the oldest holder, or else of the oldest waiter.", ""},
        footer = {
            "",
            "Examples:",
            "  holdfast list",
            "  holdfast list --json report:",
            "",
            "Exit codes: 0; 64 usage; 69 store unreachable."
        })
public final class ListCommand implements Callable<Integer> {

    @Option(names = "--json", description = "Write JSON: an array of what 'show --json' writes.")
    private boolean json;

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Parameters(arity = "0..1", paramLabel = "PREFIX", description = "Only names that begin with it.")
    private String prefix = "";

    @Override
    public Integer call() {
        List<ResourceState> states = new ArrayList<>();
        try (Holdfast locks = tool.storeChoice().connect("list")) {
            List<String> names = locks.list(prefix, LockStore.MAX_LIST);
            for (String name : names) {
                // One round trip for each name. Locks that became free since the names were read are left out.
                locks.state(name).filter(ResourceState::isInUse).ifPresent(states::add);
            }
            if (names.size() == LockStore.MAX_LIST) {
                ErrorReport.say(
                        "only the first " + LockStore.MAX_LIST + " names are shown: give a longer PREFIX", System.err);
            }
        }
        System.out.print(json ? json(states) : text(states));
        return ExitCode.OK;
    }

    private static String json(List<ResourceState> states) {
        Json json = new Json().open('[');
        states.forEach(state -> StateView.json(json, state));
        return json.close(']') + System.lineSeparator();
    }

    private static String text(List<ResourceState> states) {
        if (states.isEmpty()) {
            return "no locks are in use" + System.lineSeparator();
        }
        Table table = new Table().row("NAME", "KIND", "HOLDERS", "WAITERS", "AGE");
        for (ResourceState state : states) {
            table.row(
                    state.name().value(),
                    Kinds.of(state),
                    Integer.toString(state.holders().size()),
                    Integer.toString(state.waiters().size()),
                    DurationConverter.print(oldest(state)));
        }
        return table.toString();
    }

    private static Duration oldest(ResourceState state) {
        Stream<ResourceState.Entry> entries = (state.holders().isEmpty() ? state.waiters() : state.holders()).stream();
        return entries.map(ResourceState.Entry::age).max(Duration::compareTo).orElse(Duration.ZERO);
    }
}
