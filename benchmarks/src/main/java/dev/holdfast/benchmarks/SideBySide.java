package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.server.Daemon;
import dev.holdfast.benchmarks.server.Server;
import dev.holdfast.benchmarks.subject.JdbcFloor;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Runs Holdfast, its peers and the bare floors side by side, on servers that it starts itself.
 *
 * <pre>
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.SideBySide \
 *       [--quick] [--minutes N] [--store NAME,...] [--workload NAME,...] [--subject NAME,...] [--out FOLDER]
 * </pre>
 *
 * <p>For each store and workload every entrant has worker processes of its own, which are warmed up first; then
 * rounds follow, in each of which all entrants run in turn, so that other load on the machine affects all alike. The
 * figures go to {@code raw.jsonl} in the folder, a line for each round; {@link Report} makes tables and plots of
 * them.
 */
public final class SideBySide {

    private static final Duration LEASE = Duration.ofSeconds(30);
    /** The lease of locks that are held: they are renewed every third of it. */
    private static final Duration HELD_LEASE = Duration.ofSeconds(6);

    private static final int FULL_MINUTES = 40;
    private static final int QUICK_MINUTES = 5;
    /** The part of the time that is planned; the rest is for what the timetable does not foresee. */
    private static final double MARGIN = 0.95;
    /** A warm-up goes on while each part of it is better than the best before by this factor. */
    private static final double STILL_RISING = 1.02;

    private final Path raw;
    private final Path scratch;
    private final Timetable table;
    private final List<Workload> workloads;
    private final List<String> subjects;
    private final Map<Entrant, Crew> crews = new ConcurrentHashMap<>();
    private final long begun = System.nanoTime();
    private int crewNumber;

    private SideBySide(Path raw, Path scratch, Timetable table, List<Workload> workloads, List<String> subjects) {
        this.raw = raw;
        this.scratch = scratch;
        this.table = table;
        this.workloads = workloads;
        this.subjects = subjects;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Map<String, String> options = new Options(
                        "--quick", "--minutes", "--warm-up", "--store", "--workload", "--subject", "--out")
                .parse(args);
        boolean quick = options.containsKey("--quick");
        List<String> stores = list(options.get("--store"));
        List<String> names = list(options.get("--workload"));
        List<Field> fields = Field.all().stream()
                .filter(field -> stores.isEmpty() || stores.contains(field.name()))
                .toList();
        List<Workload> workloads = Arrays.stream(Workload.values())
                .filter(workload -> names.isEmpty() || names.contains(workload.option()))
                .filter(workload -> !names.isEmpty() || new Timetable(quick, 1).includes(workload))
                .toList();
        if (fields.size() < stores.size() || workloads.size() < names.size() || fields.isEmpty()) {
            throw new IllegalArgumentException("A store or a workload is not known. Stores: "
                    + Field.all().stream().map(Field::name).toList() + ", workloads: "
                    + Arrays.stream(Workload.values()).map(Workload::option).toList());
        }
        double minutes = Double.parseDouble(
                options.getOrDefault("--minutes", Integer.toString(quick ? QUICK_MINUTES : FULL_MINUTES)));
        Duration warmUp = Duration.ofSeconds(Long.parseLong(options.getOrDefault("--warm-up", "0")));
        Duration budget = Duration.ofSeconds((long) (minutes * 60 * MARGIN));
        Timetable table = Timetable.within(budget, quick, warmUp, fields, workloads);
        Path out = Path.of(options.getOrDefault("--out", "benchmarks/target/side-by-side"));
        Files.createDirectories(out);
        Path raw = out.resolve("raw.jsonl");
        Files.deleteIfExists(raw);
        Path scratch = Files.createTempDirectory("holdfast-crews-");
        SideBySide run = new SideBySide(raw, scratch, table, workloads, list(options.get("--subject")));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            List.copyOf(run.crews.values()).forEach(Crew::kill);
            Daemon.delete(scratch);
        }));
        run.all(fields, quick);
        System.out.println("Raw results: " + raw);
        System.exit(0);
    }

    private static List<String> list(@Nullable String value) {
        return value == null ? List.of() : List.of(value.split(","));
    }

    private void all(List<Field> fields, boolean quick) throws IOException, InterruptedException {
        double planned = Timetable.seconds(table, fields, workloads);
        say("planned: %.0f min, times scaled by %.2f", planned / 60, table.scale());
        write(Surroundings.fields()
                .with("quick", quick ? 1 : 0)
                .with("scale", table.scale())
                .with("longWarmUpSeconds", table.longWarmUp().toSeconds())
                .with("slotSeconds", table.slot(Workload.FREE).toMillis() / 1e3)
                .with("processesWarmUpSeconds", table.warmUp(Workload.PROCESSES).toMillis() / 1e3));
        for (Field field : fields) {
            run(field, quick);
        }
        write(new Fields()
                .with("kind", "end")
                .with("minutes", (System.nanoTime() - begun) / 60e9)
                .with("loadAtEnd", Surroundings.load()));
        say("done");
    }

    private void run(Field field, boolean quick) throws IOException, InterruptedException {
        List<Entrant> entrants = field.entrants().stream()
                .filter(entrant -> !quick || entrant.isQuick())
                .filter(entrant -> subjects.isEmpty() || subjects.contains(entrant.label()))
                .toList();
        if (entrants.isEmpty()) {
            return;
        }
        try (Server server = field.starter().get()) {
            if (server.target().startsWith("jdbc:")) {
                JdbcFloor.makeTables(server.target());
            }
            write(new Fields().with("kind", "store").with("store", field.name()).with("server", server.describe()));
            for (Workload workload : workloads) {
                List<Entrant> here = new ArrayList<>(entrants);
                here.removeIf(entrant -> !entrant.workloads().contains(workload));
                if (!here.isEmpty()) {
                    say("%s %s: %s", field.name(), workload.option(), workload.title());
                    run(field, server, workload, here);
                }
            }
        } catch (java.sql.SQLException | IllegalStateException failed) {
            // A server that is not installed does not end the run.
            say("%s cannot be run: %s", field.name(), String.valueOf(failed.getMessage()));
            write(new Fields()
                    .with("kind", "store")
                    .with("store", field.name())
                    .with("error", String.valueOf(failed.getMessage())));
        } finally {
            List.copyOf(crews.keySet()).forEach(this::dismiss);
        }
    }

    private void run(Field field, Server server, Workload workload, List<Entrant> entrants)
            throws IOException, InterruptedException {
        List<Entrant> running = new ArrayList<>(entrants);
        for (Entrant entrant : entrants) {
            if (!warmUp(field, server, workload, entrant)) {
                running.remove(entrant);
            }
        }
        for (int round = table.firstRound(workload); round <= table.rounds(workload); round++) {
            String kind = round < 1 ? "warm-up" : "timed";
            for (Entrant entrant : List.copyOf(running)) {
                if (step(field, server, workload, entrant, table.slot(workload), kind, round) == null) {
                    running.remove(entrant);
                }
            }
            // No entrant shall always run after the same other one.
            Collections.rotate(running, 1);
        }
        if (!server.countsForFree() && !workload.isHeld()) {
            for (Entrant entrant : running) {
                step(field, server, workload, entrant, table.counting(), "counted", 0);
            }
        }
    }

    // Warms up until the rate no longer rises, so that each entrant gets the time it needs and no compiler is
    // measured.
    private boolean warmUp(Field field, Server server, Workload workload, Entrant entrant)
            throws IOException, InterruptedException {
        Duration slice = table.warmUp(workload);
        Duration left = table.warmUpAtMost(workload);
        boolean rising = !slice.isZero();
        for (double best = 0; rising && left.compareTo(slice) >= 0; left = left.minus(slice)) {
            Outcome outcome = step(field, server, workload, entrant, slice, "warm-up", 0);
            if (outcome == null) {
                return false;
            }
            rising = outcome.perSecond() > best * STILL_RISING;
            best = Math.max(best, outcome.perSecond());
        }
        return true;
    }

    /** One run of one entrant. @return null if it failed, which is printed and recorded */
    private @Nullable Outcome step(
            Field field, Server server, Workload workload, Entrant entrant, Duration time, String kind, int round)
            throws IOException, InterruptedException {
        Fields line = new Fields()
                .with("kind", kind)
                .with("store", field.name())
                .with("label", entrant.label())
                .with("workload", workload.option())
                .with("round", round);
        // Renewals of held locks are too rare for the monitor to matter.
        boolean count = !server.countsForFree() && (kind.equals("counted") || workload.isHeld());
        boolean warmingUp = kind.equals("warm-up");
        if (workload.isHeld()) {
            dismiss(entrant);
        }
        try {
            Crew crew = crew(server, entrant, workload.isHeld() ? HELD_LEASE : LEASE);
            // As many clients as the run itself has: those that are closed and opened again are cold in each round.
            crew.ensureWorkers(workload.workers(), workload.clientsEach());
            if (count) {
                server.startCounting();
            }
            Outcome outcome = workload.run(
                    crew,
                    new Workload.Run(
                            time,
                            table.churn(),
                            workload.isHeld() ? table.locks() : Workload.LOCKS,
                            "bench" + crewNumberOf(entrant) + "-" + workload.option() + "-",
                            server::requests));
            if (!warmingUp) {
                write(line.with(outcome.fields()));
                say("  %-22s %s", entrant.label(), Summary.of(workload, outcome));
            }
            return outcome;
        } catch (IllegalStateException failed) {
            say("  %-22s failed: %s", entrant.label(), String.valueOf(failed.getMessage()));
            write(line.with("error", String.valueOf(failed.getMessage())));
            Crew crew = crews.remove(entrant);
            if (crew != null) {
                crew.kill();
            }
            return null;
        } finally {
            if (count) {
                server.stopCounting();
            }
            if (workload.isHeld()) {
                dismiss(entrant);
            }
        }
    }

    private Crew crew(Server server, Entrant entrant, Duration lease) throws IOException {
        Crew crew = crews.get(entrant);
        if (crew == null) {
            Path folder = Files.createDirectory(scratch.resolve("crew-" + ++crewNumber));
            crew = new Crew(
                    Peers.class, Surroundings.WORKER_OPTIONS, entrant.subject(), entrant.target(server), lease, folder);
            crews.put(entrant, crew);
        }
        return crew;
    }

    // A crew that failed may have left locks behind; the next one has names of its own.
    private int crewNumberOf(Entrant entrant) {
        return Math.floorMod(System.identityHashCode(crews.get(entrant)), 100_000);
    }

    private void dismiss(Entrant entrant) {
        Crew crew = crews.remove(entrant);
        if (crew != null) {
            crew.close();
        }
    }

    private void write(Fields line) throws IOException {
        Files.writeString(raw, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private void say(String format, Object... values) {
        System.out.printf(
                Locale.ROOT,
                "[%5.1f min] %s%n",
                (System.nanoTime() - begun) / 60e9,
                String.format(Locale.ROOT, format, values));
    }
}
