package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.server.Daemon;
import dev.holdfast.benchmarks.server.Server;
import dev.holdfast.workload.Crew;
import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Summary;
import dev.holdfast.workload.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * How Holdfast's costs grow: with the locks held, with the threads that wait for one lock, with the processes.
 *
 * <pre>
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.Growth \
 *       [--quick] [--store redis] [--out benchmarks/target/growth]
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.GrowthReport
 * </pre>
 */
public final class Growth {

    private static final List<Integer> LOCKS = List.of(1, 10, 100, 1_000, 10_000);
    private static final List<Integer> WAITERS = List.of(1, 4, 16, 64, 256, 1_000);
    private static final List<Integer> PROCESSES = List.of(1, 2, 4, 8, 16, 32, 64);

    private static final int WAITING_PROCESSES = 4;
    private static final int CLIENTS_EACH = 5;
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration HELD_LEASE = Duration.ofSeconds(6);

    private final String store;
    private final Server server;
    private final Path raw;
    private final Path scratch;
    private final boolean quick;
    private int crews;

    /** The server's processor time before and after the measured part of a run. */
    private double cpuBefore;

    private double cpuAfter;

    private Growth(String store, Server server, Path raw, Path scratch, boolean quick) {
        this.store = store;
        this.server = server;
        this.raw = raw;
        this.scratch = scratch;
        this.quick = quick;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Map<String, String> options = new Options("--quick", "--store", "--out").parse(args);
        List<String> stores = List.of(options.getOrDefault("--store", "redis").split(","));
        Path out = Path.of(options.getOrDefault("--out", "benchmarks/target/growth"));
        Files.createDirectories(out);
        Path raw = out.resolve("raw.jsonl");
        Files.writeString(raw, Surroundings.fields() + "\n");
        Path scratch = Files.createTempDirectory("holdfast-crews-");
        // Workers end with this process.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Daemon.delete(scratch)));
        for (Field field : Field.all()) {
            if (stores.contains(field.name())) {
                try (Server server = field.starter().get()) {
                    new Growth(field.name(), server, raw, scratch, options.containsKey("--quick")).run();
                }
            }
        }
        Files.writeString(
                raw,
                new Fields().with("kind", "end").with("loadAtEnd", Surroundings.load()) + "\n",
                StandardOpenOption.APPEND);
        System.out.println("Raw results: " + raw);
        System.exit(0);
    }

    private void run() throws IOException, InterruptedException {
        write(new Fields().with("kind", "store").with("store", store).with("server", server.describe()));
        for (int locks : LOCKS) {
            if (!quick || locks <= 1_000) {
                held(locks);
            }
        }
        try (Crew crew = crew(LEASE)) {
            for (int waiters : WAITERS) {
                if (!quick || waiters <= 64) {
                    waiting(crew, waiters);
                }
            }
        }
        try (Crew crew = crew(LEASE)) {
            for (int processes : PROCESSES) {
                if (!quick || processes <= 4) {
                    crew.ensureWorkers(processes, 1);
                    loop(crew, "processes, a lock each", processes, Workload.FREE, processes, 1);
                    loop(crew, "processes, one lock", processes, Workload.HERD_4, processes, 1);
                }
            }
        }
    }

    private Crew crew(Duration lease) throws IOException {
        Path folder = Files.createDirectory(scratch.resolve("growth-" + store + "-" + ++crews));
        // The heaps are small, because there are many processes.
        List<String> options = List.of("-Xmx512m", "--enable-native-access=ALL-UNNAMED");
        return new Crew(Peers.class, options, "holdfast", server.url(), lease, folder);
    }

    private Workload.Run runOf(Duration time, int locks) {
        cpuBefore = Double.NaN;
        return new Workload.Run(time, Duration.ZERO, locks, "growth" + crews + "-", () -> {
            // This is called twice: before and after the measured part.
            cpuBefore = Double.isNaN(cpuBefore) ? server.cpuSeconds() : cpuBefore;
            cpuAfter = server.cpuSeconds();
            return server.requests();
        });
    }

    private void held(int locks) throws IOException, InterruptedException {
        try (Crew crew = crew(HELD_LEASE)) {
            crew.ensureWorkers(1, 1);
            long memory = server.memoryBytes();
            server.startCounting();
            try {
                Outcome outcome = Workload.HELD.run(crew, runOf(Duration.ofSeconds(quick ? 3 : 20), locks));
                Fields line = outcome.fields();
                if (memory >= 0) {
                    // A released lock leaves its record behind for a while, which is nearly all that it took.
                    line.with("serverBytes", server.memoryBytes() - memory);
                }
                report("locks held", locks, Workload.HELD, outcome);
            } finally {
                server.stopCounting();
            }
        }
    }

    private void waiting(Crew crew, int waiters) throws IOException, InterruptedException {
        int workers = Math.min(WAITING_PROCESSES, waiters);
        int threads = waiters / workers;
        crew.ensureWorkers(workers, Math.min(CLIENTS_EACH, threads));
        loop(crew, "waiters on one lock", waiters, Workload.HERD_4, workers, threads);
    }

    private void loop(Crew crew, String series, int size, Workload workload, int workers, int threads)
            throws IOException, InterruptedException {
        workload.loop(crew, runOf(Duration.ofSeconds(quick ? 1 : 6), Workload.LOCKS), workers, threads);
        Outcome outcome =
                workload.loop(crew, runOf(Duration.ofSeconds(quick ? 1 : 4), Workload.LOCKS), workers, threads);
        report(series, size, workload, outcome);
    }

    private void report(String series, int size, Workload workload, Outcome outcome) throws IOException {
        System.out.printf(Locale.ROOT, "%s, %d %s: %s%n", store, size, series, Summary.of(workload, outcome));
        write(new Fields()
                .with("kind", "growth")
                .with("store", store)
                .with("series", series)
                .with("size", size)
                .with("workload", workload.option())
                .with("serverCpuSeconds", cpuAfter - cpuBefore)
                .with(outcome.fields()));
    }

    private void write(Fields line) throws IOException {
        Files.writeString(raw, line + "\n", StandardOpenOption.APPEND);
    }
}
