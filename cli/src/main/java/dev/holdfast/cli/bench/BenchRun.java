package dev.holdfast.cli.bench;

import dev.holdfast.Holdfast;
import dev.holdfast.cli.option.StoreChoice;
import dev.holdfast.cli.output.ErrorReport;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.output.Table;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.workload.Crew;
import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Summary;
import dev.holdfast.workload.Worker;
import dev.holdfast.workload.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One {@code holdfast bench}: makes sure that nobody uses the names, runs the workloads one after the other, and
 * leaves no lock, no process and no file behind, also when it is interrupted. A workload takes twice the duration,
 * the start of its processes, and at most 100 s more if the store hangs.
 */
final class BenchRun {

    private static final Duration LEASE = Duration.ofSeconds(30);
    /** The lease of workloads that hold locks: short, so that renewals occur while they are measured. */
    private static final Duration HELD_LEASE = Duration.ofSeconds(6);
    /** The most names that are listed at once when the rest is broken. */
    private static final int MAX_LISTED = 10_000;

    /** The most lists that are broken: all workloads together use a few names more than one list has. */
    private static final int MAX_LISTS = 3;

    private final StoreChoice store;
    private final List<Workload> workloads;
    private final Duration duration;
    private final int locks;
    private final String prefix;
    private final boolean json;
    private volatile @Nullable Crew crew;

    BenchRun(StoreChoice store, List<Workload> workloads, Duration duration, int locks, String prefix, boolean json) {
        this.store = store;
        this.workloads = workloads;
        this.duration = duration;
        this.locks = locks;
        this.prefix = prefix;
        this.json = json;
    }

    int run() {
        Path folder = null;
        try (Holdfast client = store.connect("bench")) {
            refuseIfInUse(client);
            Path made = Files.createTempDirectory("holdfast-bench-");
            folder = made;
            Thread cleaner = new Thread(() -> abandon(client, made), "cleaner");
            Runtime.getRuntime().addShutdownHook(cleaner);
            try {
                return measure(made);
            } finally {
                if (isStillRunning(cleaner)) {
                    dismiss();
                    breakWhatIsLeft(client);
                }
            }
        } catch (IOException failed) {
            throw new Failure(
                    ExitCode.INTERNAL, "the bench could not use its temporary folder: " + failed.getMessage(), failed);
        } finally {
            if (folder != null) {
                delete(folder);
            }
        }
    }

    /** Returns false if a signal is ending the tool; it then waits for the cleaner, which needs the client. */
    private static boolean isStillRunning(Thread cleaner) {
        try {
            return Runtime.getRuntime().removeShutdownHook(cleaner);
        } catch (IllegalStateException ending) {
            try {
                cleaner.join();
            } catch (InterruptedException hurry) {
                Thread.currentThread().interrupt();
            }
            return false;
        }
    }

    private int measure(Path folder) throws IOException {
        Table table = new Table().row("WORKLOAD", "WHAT", "RESULT");
        long overlaps = 0;
        for (int i = 0; i < workloads.size(); i++) {
            Workload workload = workloads.get(i);
            progress("%d of %d: %s, %s".formatted(i + 1, workloads.size(), workload.option(), workload.title()));
            Outcome outcome = measured(folder, workload);
            overlaps += outcome.overlaps();
            if (json) {
                System.out.println(
                        new Fields().with("workload", workload.option()).with(outcome.fields()));
            } else {
                table.row(workload.option(), workload.title(), Summary.of(workload, outcome));
            }
        }
        if (!json) {
            System.out.print(table);
        }
        if (overlaps > 0) {
            throw new Failure(
                    ExitCode.INTERNAL,
                    overlaps + " times two held the lock at once: please report this with your store's URL");
        }
        return ExitCode.OK;
    }

    private Outcome measured(Path folder, Workload workload) throws IOException {
        try {
            if (workload.isHeld()) {
                dismiss();
            }
            Crew working = crew;
            if (working == null) {
                working = new Crew(
                        Worker.class,
                        javaOptions(),
                        "holdfast",
                        store.url(),
                        workload.isHeld() ? HELD_LEASE : LEASE,
                        folder);
                crew = working;
            }
            Workload.Run run = new Workload.Run(duration, duration, locks, prefix, () -> -1);
            if (!workload.isHeld()) {
                workload.run(working, run);
            }
            Outcome outcome = workload.run(working, run);
            if (workload.isHeld()) {
                dismiss();
            }
            return outcome;
        } catch (IllegalStateException failed) {
            throw new Failure(
                    ExitCode.INTERNAL, workload.option() + ": " + ErrorReport.oneLine(failed.getMessage()), failed);
        } catch (InterruptedException nobodyInterruptsThis) {
            throw new IllegalStateException(nobodyInterruptsThis);
        }
    }

    /**
     * The options of the workers' JVMs, among them the folder of the driver's native library if this JVM was given
     * it.
     */
    private static List<String> javaOptions() {
        List<String> options = new ArrayList<>(List.of("-Xmx1g", "-Xshare:auto", "--enable-native-access=ALL-UNNAMED"));
        String library = System.getProperty("org.sqlite.lib.path");
        if (library != null) {
            options.add("-Dorg.sqlite.lib.path=" + library);
        }
        return options;
    }

    private void refuseIfInUse(Holdfast client) {
        List<String> names = client.list(prefix, 1);
        if (!names.isEmpty()) {
            throw Failure.usage(
                    "\"" + names.get(0) + "\" is in use: give a --prefix that nobody uses, or see who it is:"
                            + " holdfast show " + names.get(0));
        }
    }

    private void breakWhatIsLeft(Holdfast client) {
        List<String> left = client.list(prefix, MAX_LISTED);
        for (int lists = 1; !left.isEmpty() && lists <= MAX_LISTS; lists++) {
            left.forEach(name -> breakLock(client, name));
            left = client.list(prefix, MAX_LISTED);
        }
    }

    private static void breakLock(Holdfast client, String name) {
        ResourceState state = client.state(name).orElse(null);
        if (state != null) {
            // Waiters are broken first: otherwise one of them would get the lock after its holder was broken.
            state.waiters().forEach(client::forceRelease);
            state.holders().forEach(client::forceRelease);
        }
    }

    private void abandon(Holdfast client, Path folder) {
        Crew working = crew;
        if (working != null) {
            working.kill();
        }
        try {
            breakWhatIsLeft(client);
        } finally {
            delete(folder);
        }
    }

    private void dismiss() {
        Crew working = crew;
        crew = null;
        if (working != null) {
            working.close();
        }
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder())
                    .forEach(file -> file.toFile().delete());
        } catch (IOException gone) {
            // Nothing is left to be deleted.
        }
    }

    private static void progress(String line) {
        ErrorReport.say(line, System.err);
    }
}
