package dev.holdfast.cli;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code holdfast completion}: a script that makes a shell complete the tool's words. */
@Command(
        name = "completion",
        header = "Print a completion script for a shell.",
        customSynopsis = "holdfast completion bash|zsh",
        description = {""},
        footer = {
            "",
            "Examples:",
            "  source <(holdfast completion bash)     # in ~/.bashrc",
            "  source <(holdfast completion zsh)      # in ~/.zshrc"
        })
final class CompletionCommand implements Callable<Integer> {

    /** Makes zsh accept completion scripts of bash. */
    private static final String FOR_ZSH = "autoload -Uz compinit bashcompinit && compinit -u && bashcompinit\n";

    @SuppressWarnings("UnusedVariable") // picocli reads it
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help.")
    private boolean help;

    @Parameters(arity = "1", paramLabel = "SHELL", description = "bash or zsh.")
    private String shell = "";

    @Override
    public Integer call() {
        String script = AutoComplete.bash("holdfast", Main.everyCommand());
        switch (shell.toLowerCase(Locale.ROOT)) {
            case "bash" -> System.out.print(script);
            case "zsh" -> System.out.print(FOR_ZSH + script);
            default -> throw Failure.usage("there is a completion for bash and zsh, not for \"" + shell + "\"");
        }
        return ExitCode.OK;
    }
}
