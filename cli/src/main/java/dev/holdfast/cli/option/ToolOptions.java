package dev.holdfast.cli.option;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of every command that opens a store. */
public final class ToolOptions {

    public static final String STORE_TEXT =
            "The store, such as sqlite:PATH. Default: $HOLDFAST_STORE, else a SQLite file in your state folder.";
    public static final String VERBOSE_TEXT =
            "Print each step and its time to standard error; with an error, its stack trace.";
    public static final String HELP_TEXT = "Show this help.";

    @Option(names = "--store", paramLabel = "URL", description = STORE_TEXT)
    private @Nullable String store;

    @Option(
            names = {"-v", "--verbose"},
            description = VERBOSE_TEXT)
    private boolean verbose;

    @SuppressWarnings("UnusedVariable") // picocli reads it
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = HELP_TEXT)
    private boolean help;

    public StoreChoice storeChoice() {
        return StoreChoice.of(store);
    }

    /** The store that was asked for, or null if the default would be used. */
    @Nullable
    public String chosenUrl() {
        StoreChoice chosen = storeChoice().shared();
        return chosen.file() == null ? chosen.url() : null;
    }

    public boolean verbose() {
        return verbose;
    }
}
