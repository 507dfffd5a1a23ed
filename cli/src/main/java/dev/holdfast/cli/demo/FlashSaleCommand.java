package dev.holdfast.cli.demo;

import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.Failure;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of {@code holdfast demo flash-sale}. */
@Command(
        name = "flash-sale",
        header = "Sell a small stock to many customers from several processes at once.",
        customSynopsis = "holdfast demo flash-sale [--no-lock] [OPTIONS]",
        description = {
            "",
            "Each process looks at the stock, takes the payment, and writes the stock back: right for one process, wrong for"
                    + " several. With a lock around it nothing is oversold; --no-lock shows what happens without it.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  holdfast demo flash-sale --no-lock",
            "  holdfast demo flash-sale --customers 500 --stock 20 --processes 5",
            "",
            "Exit codes: 0, also if it was oversold without the lock; 70 if it was oversold with the lock."
        })
final class FlashSaleCommand implements Callable<Integer> {

    private static final int MOST_CUSTOMERS = 100_000;
    private static final int MOST_PROCESSES = 32;

    @Option(names = "--customers", paramLabel = "N", description = "How many want one. Default: 100.")
    private int customers = 100;

    @Option(names = "--stock", paramLabel = "N", description = "How many there are. Default: 3.")
    private int stock = 3;

    @Option(names = "--processes", paramLabel = "N", description = "How many processes sell. Default: 3.")
    private int processes = 3;

    @Option(names = "--no-lock", description = "Sell without the lock.")
    private boolean noLock;

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Override
    public Integer call() {
        check("--customers", customers, MOST_CUSTOMERS);
        check("--stock", stock, MOST_CUSTOMERS);
        check("--processes", processes, MOST_PROCESSES);
        return new FlashSale(customers, stock, processes, !noLock, tool.chosenUrl()).run();
    }

    private static void check(String option, int value, int most) {
        if (value < 1 || value > most) {
            throw Failure.usage(option + " must be 1 to " + most + ", but was " + value);
        }
    }
}
