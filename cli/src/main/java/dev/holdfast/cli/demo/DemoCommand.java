package dev.holdfast.cli.demo;

import dev.holdfast.cli.output.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code holdfast demo}: the demonstrations; there is one. */
@Command(
        name = "demo",
        header = "See what a lock is for.",
        customSynopsis = "holdfast demo flash-sale [OPTIONS]",
        description = {""},
        subcommands = FlashSaleCommand.class,
        footer = {"", "Examples:", "  holdfast demo flash-sale", "  holdfast demo flash-sale --no-lock"})
public final class DemoCommand implements Runnable {

    @SuppressWarnings("UnusedVariable") // picocli reads it
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help.")
    private boolean help;

    @Override
    public void run() {
        throw Failure.usage("name a demo: flash-sale; see: holdfast demo --help");
    }
}
