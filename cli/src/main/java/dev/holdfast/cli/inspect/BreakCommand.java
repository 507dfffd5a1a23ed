package dev.holdfast.cli.inspect;

import dev.holdfast.Holdfast;
import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.spi.ResourceState;
import java.io.Console;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code holdfast break}: ends exactly the claims that it has shown. */
@Command(
        name = "break",
        header = "Take a lock away from its holders.",
        customSynopsis = "holdfast break [--yes] [OPTIONS] NAME",
        description = {
            "",
            "Shows the holders, asks, and releases exactly the claims that it has shown: a holder that came later keeps the"
                    + " lock. Those who lose it are notified, but may work on for a moment while the next one begins.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  holdfast break deploy",
            "  holdfast break --yes deploy",
            "",
            "Exit codes: 0 all that was shown is broken; 1 not, or not all: nobody held it,",
            "the answer was no, or it changed meanwhile; 64 usage, or nobody to ask;",
            "69 store unreachable."
        })
public final class BreakCommand implements Callable<Integer> {

    @Option(
            names = {"-y", "--yes"},
            description = "Do not ask.")
    private boolean yes;

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Parameters(arity = "1", paramLabel = "NAME", description = "The lock.")
    private String name = "";

    @Override
    public Integer call() {
        Console console = yes ? null : console();
        if (!yes && console == null) {
            throw Failure.usage("break asks first, and there is no terminal to ask at: give --yes");
        }
        try (Holdfast locks = tool.storeChoice().connect("break")) {
            ResourceState seen = ShowCommand.stateOf(locks, name);
            System.out.print(StateView.text(seen));
            List<ResourceState.Entry> holders = seen.holders();
            if (holders.isEmpty()) {
                ErrorReport.say("nobody holds \"" + name + "\": nothing to break", System.err);
                return ExitCode.BUSY;
            }
            if (console != null && !isConfirmed(console, holders.size())) {
                ErrorReport.say("nothing was broken", System.err);
                return ExitCode.BUSY;
            }
            int broken = 0;
            for (ResourceState.Entry holder : holders) {
                broken += locks.forceRelease(holder) ? 1 : 0;
            }
            return report(broken, holders.size());
        }
    }

    private int report(int broken, int shown) {
        System.out.println(
                "broke " + broken + " of " + shown + (shown == 1 ? " claim" : " claims") + " on \"" + name + "\"");
        if (broken == shown) {
            return ExitCode.OK;
        }
        ErrorReport.say(
                "\"" + name + "\" changed meanwhile: what was shown and not broken had ended by itself;"
                        + " look again with: holdfast show " + name,
                System.err);
        return ExitCode.BUSY;
    }

    private static boolean isConfirmed(Console console, int holders) {
        String answer =
                console.readLine("Break %s? [y/N] ", holders == 1 ? "this claim" : "these " + holders + " claims");
        return answer != null && answer.strip().toLowerCase(Locale.ROOT).startsWith("y");
    }

    private static @Nullable Console console() {
        // From JDK 22 on, the default console exists even if there is no terminal; the one of java.base does not.
        System.setProperty("jdk.console", "java.base");
        return System.console();
    }
}
