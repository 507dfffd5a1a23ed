package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.report.Figure;
import dev.holdfast.benchmarks.report.MarkedText;
import dev.holdfast.benchmarks.report.Plots;
import dev.holdfast.benchmarks.report.Results;
import dev.holdfast.benchmarks.report.Results.Key;
import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Histogram;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Summary;
import dev.holdfast.workload.Workload;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Makes the tables and plots of {@code docs/benchmarks.md} from the raw results of {@link SideBySide}.
 *
 * <pre>
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.Report \
 *       [--raw benchmarks/target/side-by-side/raw.jsonl] [--page docs/benchmarks.md]
 * </pre>
 */
public final class Report {

    private final Results results;
    private final StringBuilder text = new StringBuilder();

    private Report(Results results) {
        this.results = results;
    }

    public static void main(String[] args) throws IOException {
        System.setProperty("java.awt.headless", "true");
        Map<String, String> options = new Options("--raw", "--page").parse(args);
        Path raw = Path.of(options.getOrDefault("--raw", "benchmarks/target/side-by-side/raw.jsonl"));
        Path page = Path.of(options.getOrDefault("--page", "docs/benchmarks.md"));
        Report report = new Report(Results.read(raw));
        String folder = page.getFileName().toString().replaceFirst("\\.md$", "");
        MarkedText.replace(page, "results", report.make(page.resolveSibling(folder)));
        System.out.println(page + " is written.");
    }

    private String make(Path pictures) throws IOException {
        surroundings();
        asked();
        List<String> stores = results.keys().stream().map(Key::store).distinct().toList();
        Plots plots = new Plots(results, pictures);
        show(plots.herd(), pictures);
        for (String store : stores) {
            line("### " + store);
            line("");
            results.lines("store").stream()
                    .filter(start -> start.text("store").equals(store))
                    .forEach(start -> line(start.text("server") + "\n"));
            table(store);
            if (results.keys().stream()
                    .anyMatch(key -> key.store().equals(store) && key.workload().isHeld())) {
                held(store);
            }
            if (!store.endsWith("-far")
                    && results.keys().stream()
                                    .filter(key -> key.store().equals(store))
                                    .count()
                            > 2) {
                show(plots.latency(store), pictures);
                show(plots.throughput(store), pictures);
                show(plots.herd(store), pictures);
            }
        }
        failures();
        return text.toString();
    }

    private void line(String line) {
        text.append(line).append('\n');
    }

    private void line(String format, Object first, Object... values) {
        Object[] all = new Object[values.length + 1];
        all[0] = first;
        System.arraycopy(values, 0, all, 1, values.length);
        line(String.format(Locale.ROOT, format, all));
    }

    private void surroundings() {
        for (Fields run : results.lines("surroundings")) {
            line("");
            line(
                    "Run of %s: JDK %s, %s, %s, %d cores; load average %.2f at the start. %s",
                    run.text("time"),
                    run.text("jdk"),
                    run.text("system"),
                    run.text("processor"),
                    run.whole("cores"),
                    run.real("loadAtStart"),
                    run.whole("quick") == 1
                            ? "**A quick run: nothing is warmed up as it should be, and only the main entrants take part.**"
                            : "");
            line(
                    "A round takes %.2f s; before the rounds of 4 processes everybody is warmed up for %.0f s. Workers' JVMs: `%s`.",
                    run.real("slotSeconds"), run.real("processesWarmUpSeconds"), run.text("workerOptions"));
            if (run.whole("longWarmUpSeconds") > 0) {
                line("Everybody was warmed up for %d s before each workload.", run.whole("longWarmUpSeconds"));
            }
            line("Libraries: %s.", run.text("libraries"));
        }
        for (Fields end : results.lines("end")) {
            line(
                    "The run took %.0f minutes; load average %.2f at the end.",
                    end.real("minutes"), end.real("loadAtEnd"));
        }
        line("");
    }

    private void asked() {
        line("### Figures that were asked for");
        line("");
        line("| store | figure | asked | measured | reached |");
        line("| --- | --- | --: | --: | --- |");
        for (Figure figure : Figure.all()) {
            double measured = figure.measure().applyAsDouble(results);
            if (!Double.isNaN(measured)) {
                line(
                        "| %s | %s | %s %s | %s | %s |",
                        figure.store(),
                        figure.what(),
                        figure.atMost() ? "at most" : "at least",
                        number(figure.bound()),
                        number(measured),
                        figure.isReached(measured) ? "yes" : "**no**");
            }
        }
        line("");
    }

    private void table(String store) {
        line("| workload | who | per second | spread | of the floor | p50 | p99 | max | client CPU | bytes | requests |"
                + " busiest by laziest thread | process | overlaps |");
        line("| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |");
        for (Key key : sorted(store)) {
            Workload workload = key.workload();
            Histogram times = results.all(key, outcome -> Results.times(workload, outcome));
            boolean handOff = workload.isHandOff();
            row(
                    workload.option(),
                    key.label(),
                    handOff ? "" : number(results.median(key, Outcome::perSecond)),
                    percent(results.spread(
                            key, outcome -> handOff ? Results.typical(workload, outcome) : outcome.perSecond())),
                    ofTheFloor(key, handOff),
                    Summary.time(results.median(key, outcome -> Results.typical(workload, outcome))),
                    Summary.time(times.at(0.99)),
                    Summary.time(times.max()),
                    handOff ? "" : Summary.time(results.median(key, Outcome::cpuEach)),
                    handOff ? "" : number(results.median(key, Outcome::bytesEach)),
                    // A hand-off also includes an acquisition and a release of the giver.
                    handOff ? "" : number(results.requestsEach(key)),
                    workload.isContended() ? number(results.median(key, Outcome::threadShare)) : "",
                    workload.isContended() ? number(results.median(key, Outcome::processShare)) : "",
                    workload == Workload.REENTRY || handOff
                            ? ""
                            : Long.toString(results.rounds(key).stream()
                                    .mapToLong(Outcome::overlaps)
                                    .sum()));
            Histogram writers = results.all(key, Outcome::writerWaits);
            if (writers.count() > 0) {
                row(
                        "",
                        key.label() + ", writers' waits",
                        "",
                        "",
                        "",
                        Summary.time(writers.at(0.5)),
                        Summary.time(writers.at(0.99)),
                        Summary.time(writers.max()),
                        "",
                        "",
                        "",
                        "",
                        "",
                        "");
            }
        }
        line("");
    }

    private List<Key> sorted(String store) {
        List<Key> keys = new ArrayList<>(results.keys().stream()
                .filter(key -> key.store().equals(store) && !key.workload().isHeld())
                .toList());
        // Sorted by workload; within one, ours first and the floors last.
        keys.sort(java.util.Comparator.comparing(Key::workload)
                .thenComparing(key ->
                        key.label().startsWith("holdfast") ? 0 : key.label().startsWith("floor") ? 2 : 1)
                .thenComparing(Key::label));
        return keys;
    }

    private void row(String... cells) {
        line("| " + String.join(" | ", cells) + " |");
    }

    private String ofTheFloor(Key key, boolean handOff) {
        Key floor = results.floor(key);
        double ratio = handOff
                ? results.median(key, outcome -> Results.typical(key.workload(), outcome))
                        / results.median(floor, outcome -> Results.typical(key.workload(), outcome))
                : results.median(key, Outcome::perSecond) / results.median(floor, Outcome::perSecond);
        return number(ratio);
    }

    private void held(String store) {
        line(
                "| held and renewed, lease 6 s | who | locks | lost | requests per second | of a core | heap each | acquired in |");
        line("| --- | --- | --: | --: | --: | --: | --: | --: |");
        for (Key key : results.keys()) {
            if (!key.store().equals(store) || !key.workload().isHeld()) {
                continue;
            }
            Fields held = results.rounds(key).get(0).fields();
            double seconds = held.whole("nanos") / 1e9;
            row(
                    key.workload().option(),
                    key.label(),
                    number(held.whole("locks")),
                    number(held.whole("lost")),
                    number(held.real("requests") / seconds),
                    percent(held.whole("cpuNanos") / 1e9 / seconds),
                    number((double) held.whole("heapBytes") / held.whole("locks")) + " B",
                    Summary.time(held.whole("takeNanos")));
        }
        line("");
    }

    private void show(List<Path> plots, Path folder) {
        for (Path plot : plots) {
            line(
                    "![%s](%s/%s)",
                    plot.getFileName().toString().replace(".png", ""), folder.getFileName(), plot.getFileName());
            line("");
        }
    }

    private void failures() {
        List<Fields> errors = results.errors();
        if (errors.isEmpty()) {
            return;
        }
        line("### What did not run");
        line("");
        for (Fields error : errors) {
            String why = error.text("error").replace('\n', ' ').replace("|", "/");
            line(
                    "- %s, %s, %s: %s",
                    error.text("store"),
                    error.text("label"),
                    error.text("workload"),
                    why.length() > 200 ? why.substring(0, 200) + "..." : why);
        }
        line("");
    }

    private static String percent(double part) {
        return Double.isNaN(part) ? "" : String.format(Locale.ROOT, "%.0f %%", part * 100);
    }

    /** The number with about three significant digits. */
    static String number(double value) {
        if (Double.isNaN(value)) {
            return "";
        } else if (Double.isInfinite(value)) {
            return "all or nothing";
        } else if (value == Math.rint(value) || Math.abs(value) >= 100) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        return String.format(
                Locale.ROOT, Math.abs(value) >= 10 ? "%.1f" : Math.abs(value) >= 0.095 ? "%.2f" : "%.4f", value);
    }
}
