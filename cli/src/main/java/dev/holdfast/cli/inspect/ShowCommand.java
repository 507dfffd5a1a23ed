package dev.holdfast.cli.inspect;

import dev.holdfast.Holdfast;
import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Json;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code holdfast show}: who holds a lock and who waits. */
@Command(
        name = "show",
        header = "Show who holds a lock and who waits for it.",
        customSynopsis = "holdfast show [--json] [OPTIONS] NAME",
        description = {
            "",
            "LEFT is how long the lease, or the position in the queue, lives unless it is renewed. TOKEN is the fencing token.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  holdfast show deploy",
            "  holdfast show --json deploy",
            "",
            "Exit codes: 0, also if nobody holds it; 64 usage; 69 store unreachable."
        })
public final class ShowCommand implements Callable<Integer> {

    @Option(names = "--json", description = "Write JSON. Tokens are strings there, since they have more than 53 bits.")
    private boolean json;

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Parameters(arity = "1", paramLabel = "NAME", description = "The lock.")
    private String name = "";

    @Override
    public Integer call() {
        ResourceState state;
        try (Holdfast locks = tool.storeChoice().connect("show")) {
            state = stateOf(locks, name);
        }
        if (json) {
            Json text = new Json();
            StateView.json(text, state);
            System.out.println(text);
        } else {
            System.out.print(StateView.text(state));
        }
        return ExitCode.OK;
    }

    /** The state, also of a name that the store knows nothing of. */
    static ResourceState stateOf(Holdfast locks, String name) {
        return locks.state(name).orElseGet(() -> new ResourceState(new LockName(name), 0, 0, List.of(), List.of()));
    }
}
