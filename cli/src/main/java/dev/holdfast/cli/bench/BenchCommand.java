package dev.holdfast.cli.bench;

import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.option.ToolOptions;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.workload.Workload;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of {@code holdfast bench}. */
@Command(
        name = "bench",
        header = "Measure what locks cost on your store.",
        customSynopsis = "holdfast bench [--workload NAME,...] [--duration DUR] [OPTIONS]",
        description = {
            "",
            "Runs workloads in up to four processes and prints what came out. It puts load on the store: do not run it on one"
                    + " that others depend on. Names in use that begin with the prefix are a reason to refuse.",
            ""
        },
        footer = {
            "",
            "Workloads: free, free-16, re-entry, threads, processes, hand-off, hand-off-late, signal, herd-4, herd-16,",
            "herd-64, held, held-after-churn, mixed, readers.",
            "",
            "Examples:",
            "  holdfast bench",
            "  holdfast bench --store redis://HOST --workload free,hand-off --duration 10s",
            "",
            "Exit codes: 0; 64 usage, or the names are in use; 69 store unreachable; 70 a worker failed, or two held the lock"
                    + " at once."
        })
public final class BenchCommand implements Callable<Integer> {

    private static final Duration SHORTEST = Duration.ofMillis(100);
    private static final Duration LONGEST = Duration.ofMinutes(1);

    /** The workloads that run by default: those that leave few names in the store. */
    private static final List<Workload> USUAL = List.of(
            Workload.FREE,
            Workload.FREE_16,
            Workload.REENTRY,
            Workload.THREADS,
            Workload.PROCESSES,
            Workload.HAND_OFF,
            Workload.READERS,
            Workload.HELD);

    @Option(
            names = "--workload",
            paramLabel = "NAME,...",
            split = ",",
            hideParamSyntax = true,
            description = "Only these. Default: free, free-16, re-entry, threads, processes, hand-off, readers, held.")
    private List<String> workloads = List.of();

    @Option(
            names = "--duration",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "How long each is measured, 100ms to 1m, after a warm-up of the same time. Default: 3s.")
    private Duration duration = Duration.ofSeconds(3);

    @Option(
            names = "--locks",
            paramLabel = "N",
            description = "How many locks 'held' holds and 'mixed' chooses from, 1 to 10000. Default: 1000.")
    private int locks = 1_000;

    @Option(
            names = "--prefix",
            paramLabel = "TEXT",
            description = "What the names of the locks begin with. Default: holdfast-bench/")
    private String prefix = "holdfast-bench/";

    @Option(names = "--json", description = "Write a line of JSON for each workload, with histograms.")
    private boolean json;

    @Mixin
    private final ToolOptions tool = new ToolOptions();

    @Override
    public Integer call() {
        if (duration.compareTo(SHORTEST) < 0 || duration.compareTo(LONGEST) > 0) {
            throw Failure.usage("--duration must be 100ms to 1m, but was " + DurationConverter.print(duration));
        }
        if (locks < 1 || locks > Workload.LOCKS) {
            throw Failure.usage("--locks must be 1 to " + Workload.LOCKS + ", but was " + locks);
        }
        if (prefix.isEmpty() || prefix.length() > 100) {
            throw Failure.usage("--prefix must have 1 to 100 characters");
        }
        return new BenchRun(tool.storeChoice(), chosen(), duration, locks, prefix, json).run();
    }

    private List<Workload> chosen() {
        // In the store memory: each process would have locks of its own.
        boolean alone = tool.storeChoice().url().startsWith("memory:");
        List<Workload> chosen = workloads.isEmpty()
                ? USUAL.stream()
                        .filter(workload -> !alone || workload.workers() == 1)
                        .toList()
                : workloads.stream().map(BenchCommand::named).toList();
        for (Workload workload : chosen) {
            if (alone && workload.workers() > 1) {
                throw Failure.usage(workload.option() + " takes several processes, and memory: is one process's own;"
                        + " name another --store");
            }
        }
        return chosen;
    }

    private static Workload named(String name) {
        return Workload.named(name)
                .orElseThrow(() -> Failure.usage("there is no workload \"" + name + "\"; there are "
                        + Arrays.stream(Workload.values()).map(Workload::option).collect(Collectors.joining(", "))));
    }
}
