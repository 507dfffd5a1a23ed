package dev.holdfast.benchmarks.report;

import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Histogram;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;

/** The raw results of a run, and their medians. */
public final class Results {

    private final List<Fields> lines = new ArrayList<>();
    private final Map<Key, List<Outcome>> timed = new LinkedHashMap<>();
    private final Map<Key, Outcome> counted = new LinkedHashMap<>();

    /** An entrant in one workload on one store. */
    public record Key(String store, String label, Workload workload) {}

    public static Results read(Path raw) throws IOException {
        Results results = new Results();
        for (String line : Files.readAllLines(raw)) {
            results.add(Fields.parse(line));
        }
        return results;
    }

    public void add(Fields line) {
        lines.add(line);
        if (line.has("error") || !line.has("workload")) {
            return;
        }
        Key key = new Key(
                line.text("store"),
                line.text("label"),
                Workload.named(line.text("workload")).orElseThrow());
        if (line.text("kind").equals("timed")) {
            timed.computeIfAbsent(key, ignored -> new ArrayList<>()).add(Outcome.of(line));
        } else {
            counted.put(key, Outcome.of(line));
        }
    }

    /** The lines of a kind. */
    public List<Fields> lines(String kind) {
        return lines.stream().filter(line -> line.text("kind").equals(kind)).toList();
    }

    public List<Fields> errors() {
        return lines.stream().filter(line -> line.has("error")).toList();
    }

    /** The keys in the order of the run. */
    public List<Key> keys() {
        return List.copyOf(timed.keySet());
    }

    public List<Outcome> rounds(Key key) {
        return timed.getOrDefault(key, List.of());
    }

    /** The median of the rounds; NaN if there are none. */
    public double median(Key key, ToDoubleFunction<Outcome> figure) {
        return median(rounds(key).stream().mapToDouble(figure).toArray());
    }

    /** The median; for an even number of values the lower of the two in the middle; NaN if there are none. */
    public static double median(double... values) {
        double[] sorted = Arrays.stream(values)
                .filter(value -> !Double.isNaN(value))
                .sorted()
                .toArray();
        return sorted.length == 0 ? Double.NaN : sorted[(sorted.length - 1) / 2];
    }

    /** The distance between the best and the worst round, as a part of their median. */
    public double spread(Key key, ToDoubleFunction<Outcome> figure) {
        double[] sorted = rounds(key).stream().mapToDouble(figure).sorted().toArray();
        return sorted.length < 2 ? Double.NaN : (sorted[sorted.length - 1] - sorted[0]) / median(sorted);
    }

    /** The worst of the rounds. */
    public double worst(Key key, ToDoubleFunction<Outcome> figure) {
        return rounds(key).stream().mapToDouble(figure).max().orElse(Double.NaN);
    }

    /** All rounds together. */
    public Histogram all(Key key, java.util.function.Function<Outcome, Histogram> part) {
        Histogram sum = new Histogram();
        rounds(key).forEach(outcome -> sum.add(part.apply(outcome)));
        return sum;
    }

    /** Requests for each operation, from the run that counted them; NaN if the server does not report them. */
    public double requestsEach(Key key) {
        Outcome outcome = counted.get(key);
        return outcome != null ? outcome.requestsEach() : median(key, Outcome::requestsEach);
    }

    /**
     * The time that the workload is about, in nanoseconds: for a free lock acquire and release together, otherwise
     * the wait.
     */
    public static double typical(Workload workload, Outcome outcome) {
        return times(workload, outcome).at(0.5);
    }

    public static Histogram times(Workload workload, Outcome outcome) {
        return isAboutWaits(workload) ? outcome.waits() : outcome.pairs();
    }

    static boolean isAboutWaits(Workload workload) {
        return workload.isContended() || workload.isHandOff();
    }

    /** The floor to compare this one with, if there is one: that with the shortest label. */
    public Key floor(Key key) {
        TreeSet<String> floors =
                new TreeSet<>(java.util.Comparator.comparing(String::length).thenComparing(label -> label));
        for (Key other : timed.keySet()) {
            if (other.store.equals(key.store) && other.workload == key.workload && other.label.startsWith("floor")) {
                floors.add(other.label);
            }
        }
        return new Key(key.store, floors.isEmpty() ? "floor" : floors.first(), key.workload);
    }
}
