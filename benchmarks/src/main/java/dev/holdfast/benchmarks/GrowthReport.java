package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.report.MarkedText;
import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Summary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Makes the tables of {@code docs/scaling.md} from the raw results of {@link Growth}, and the projections from them.
 */
public final class GrowthReport {

    private static final double RENEWALS_PER_LEASE = 3;
    private static final double LEASE_SECONDS = 30;
    private static final double HELD_LEASE_SECONDS = 6;
    private static final double CLIENTS = 100_000;
    private static final double LOCKS = 10_000_000;
    /** The part of a core that a server may be busy before its queue, and with it all times, grow. */
    private static final double BUSY = 0.7;

    private final List<Fields> lines = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();

    private GrowthReport() {}

    public static void main(String[] args) throws IOException {
        Map<String, String> options = new Options("--raw", "--page").parse(args);
        Path page = Path.of(options.getOrDefault("--page", "docs/scaling.md"));
        GrowthReport report = new GrowthReport();
        for (String line :
                Files.readAllLines(Path.of(options.getOrDefault("--raw", "benchmarks/target/growth/raw.jsonl")))) {
            report.lines.add(Fields.parse(line));
        }
        MarkedText.replace(page, "results", report.tables());
        MarkedText.replace(page, "projection", report.projections());
        System.out.println(page + " is written.");
    }

    private List<Fields> of(String kind) {
        return lines.stream().filter(line -> line.text("kind").equals(kind)).toList();
    }

    private String tables() {
        text.setLength(0);
        of("surroundings")
                .forEach(run -> line(
                        "\nRun of %s: JDK %s, %s, %d cores; load average %.2f at the start.\n",
                        run.text("time"),
                        run.text("jdk"),
                        run.text("processor"),
                        run.whole("cores"),
                        run.real("loadAtStart")));
        for (Fields store : of("store")) {
            line("%s: %s\n", store.text("store"), store.text("server"));
            held(store.text("store"));
            for (String series : List.of("waiters on one lock", "processes, a lock each", "processes, one lock")) {
                loops(store.text("store"), series);
            }
        }
        return text.toString();
    }

    private List<Fields> series(String store, String series) {
        return of("growth").stream()
                .filter(line ->
                        line.text("store").equals(store) && line.text("series").equals(series))
                .toList();
    }

    private void held(String store) {
        line(
                "| locks held, lease 6 s | lost | acquired in | requests/s | client CPU | client heap each | server CPU | server memory each |");
        line("| --: | --: | --: | --: | --: | --: | --: | --: |");
        for (Fields point : series(store, "locks held")) {
            double seconds = point.whole("nanos") / 1e9;
            double locks = point.whole("size");
            line(
                    "| %s | %d | %s | %s | %.1f %% | %s B | %s %% | %s |",
                    Report.number(locks),
                    point.whole("lost"),
                    Summary.time(point.whole("takeNanos")),
                    Report.number(point.real("requests") / seconds),
                    point.whole("cpuNanos") / 1e7 / seconds,
                    Report.number(point.whole("heapBytes") / locks),
                    Report.number(100 * point.real("serverCpuSeconds") / seconds),
                    point.has("serverBytes") ? Report.number(point.whole("serverBytes") / locks) + " B" : "");
        }
        line("");
    }

    private void loops(String store, String series) {
        line(
                "| %s | per second | wait p50 | wait p99 | longest | client CPU each | server CPU each | overlaps |",
                series);
        line("| --: | --: | --: | --: | --: | --: | --: | --: |");
        for (Fields point : series(store, series)) {
            Outcome outcome = Outcome.of(point);
            line(
                    "| %s | %s | %s | %s | %s | %s | %s | %d |",
                    Report.number(point.whole("size")),
                    Report.number(outcome.perSecond()),
                    Summary.time(outcome.waits().at(0.5)),
                    Summary.time(outcome.waits().at(0.99)),
                    Summary.time(outcome.waits().max()),
                    Summary.time(outcome.cpuEach()),
                    Summary.time(serverNanosEach(point)),
                    outcome.overlaps());
        }
        line("");
    }

    private static double serverNanosEach(Fields point) {
        return point.real("serverCpuSeconds") * 1e9 / point.whole("operations");
    }

    private String projections() {
        text.setLength(0);
        line("");
        line(
                "| store | measured: server CPU for acquire + release | measured: server CPU for a renewal | inferred: pairs/s of"
                        + " one core at %.0f %% | inferred: locks that one core renews | inferred: cores that renew 10 million |",
                BUSY * 100);
        line("| --- | --: | --: | --: | --: | --: |");
        for (Fields store : of("store")) {
            List<Fields> pairs = series(store.text("store"), "processes, a lock each");
            List<Fields> held = series(store.text("store"), "locks held");
            if (pairs.isEmpty() || held.isEmpty()) {
                continue;
            }
            double pair = pairs.stream()
                    .mapToDouble(GrowthReport::serverNanosEach)
                    .filter(nanos -> !Double.isNaN(nanos))
                    .min()
                    .orElse(Double.NaN);
            Fields most = held.get(held.size() - 1);
            double renewals = most.whole("size") * RENEWALS_PER_LEASE / HELD_LEASE_SECONDS * most.whole("nanos") / 1e9;
            double renewal = most.real("serverCpuSeconds") * 1e9 / renewals;
            double carried = BUSY * 1e9 / renewal * LEASE_SECONDS / RENEWALS_PER_LEASE;
            line(
                    "| %s | %s | %s | %s | %s | %s |",
                    store.text("store"),
                    Summary.time(pair),
                    Summary.time(renewal),
                    Report.number(Math.rint(BUSY * 1e9 / pair)),
                    Report.number(Math.rint(carried)),
                    Report.number(Math.ceil(LOCKS / carried)));
            line("");
            line(
                    "Inferred: %s clients with %s locks each, client heap %s MB each for them; renewals %s/s in all, in at most %s requests/s"
                            + " of 256 claims if they were spread evenly.",
                    Report.number(CLIENTS),
                    Report.number(LOCKS / CLIENTS),
                    Report.number(LOCKS / CLIENTS * most.whole("heapBytes") / most.whole("size") / 1e6),
                    Report.number(LOCKS * RENEWALS_PER_LEASE / LEASE_SECONDS),
                    Report.number(CLIENTS * RENEWALS_PER_LEASE / LEASE_SECONDS));
        }
        line("");
        return text.toString();
    }

    private void line(String format, Object... values) {
        text.append(values.length == 0 ? format : String.format(Locale.ROOT, format, values))
                .append('\n');
    }
}
