package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.report.Results.Key;
import dev.holdfast.workload.Histogram;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Workload;
import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * The pictures, as PNG files in a folder. A picture has at most six entrants, each with a colour of its own; the tables
 * have all of them.
 */
public final class Plots {

    private static final int WIDTH = 900;
    private static final int HEIGHT = 460;
    private static final String OURS = "holdfast";
    private static final String FLOOR = "floor";
    private static final Color COLOR_OF_OURS = new Color(0x0b, 0x6e, 0x4f);
    private static final Color COLOR_OF_FLOOR = new Color(0x66, 0x66, 0x66);
    /** As many as a picture has entrants; the colors of Holdfast and of the floor are used for others last. */
    private static final List<Color> COLORS = List.of(
            new Color(0xd9, 0x5f, 0x02),
            new Color(0x1f, 0x78, 0xb4),
            new Color(0xe6, 0xab, 0x02),
            new Color(0xe7, 0x29, 0x8a),
            COLOR_OF_FLOOR,
            COLOR_OF_OURS);

    /** One of the charts of throughput. */
    private record Panel(Workload workload, String title) {}

    private static final List<Panel> PANELS = List.of(
            new Panel(Workload.FREE, "1 thread"),
            new Panel(Workload.FREE_16, "16 threads, 16 locks"),
            new Panel(Workload.THREADS, "16 threads, 1 lock"),
            new Panel(Workload.PROCESSES, "4 processes x 4, 1 lock"));
    private static final Map<Workload, Integer> HERDS =
            Map.of(Workload.HERD_4, 4, Workload.HERD_16, 16, Workload.HERD_64, 64);

    private final Results results;
    private final Path folder;

    public Plots(Results results, Path folder) throws IOException {
        this.results = results;
        this.folder = Files.createDirectories(folder);
    }

    /** How long acquire and release of a free lock took, from the median to the rarest. Empty if no entrant ran. */
    public List<Path> latency(String store) throws IOException {
        XYChart chart = lines(
                store + ": acquire and release of a free lock", "share of the pairs that took longer", "microseconds");
        chart.getStyler().setxAxisTickLabelsFormattingFunction(Plots::share);
        Map<String, Color> colors = colors(entrants(store, List.of(Workload.FREE)));
        for (String label : colors.keySet()) {
            Histogram times = results.all(new Key(store, label, Workload.FREE), Outcome::pairs);
            List<Double> x = new ArrayList<>();
            List<Double> y = new ArrayList<>();
            for (double rest = 1; rest * times.count() >= 1 && rest >= 1e-5; rest /= 1.5) {
                // The rare ones are on the right.
                x.add(-Math.log10(rest));
                y.add(times.at(1 - rest) / 1e3);
            }
            if (x.size() > 2) {
                add(chart, label, x, y, colorOf(label, colors)).setMarker(SeriesMarkers.NONE);
            }
        }
        return saved(chart, "latency-" + store);
    }

    // The axis is linear and its values are exponents: the library's own logarithmic axis passes odd values to the
    // labels.
    private static String share(double exponent) {
        return String.format(Locale.ROOT, "%.2g %%", 100 / Math.pow(10, exponent))
                .replace("1.0e+02", "100");
    }

    /** The throughput as more threads want the same lock: a chart for each workload, all with the same axis. */
    public List<Path> throughput(String store) throws IOException {
        List<CategoryChart> charts = throughputCharts(store);
        if (charts.isEmpty()) {
            return List.of();
        }
        int columns = columns(charts.size());
        Path file = folder.resolve("throughput-" + store + ".png");
        BitmapEncoder.saveBitmap(charts, charts.size() / columns, columns, file.toString(), BitmapFormat.PNG);
        return List.of(file);
    }

    // The library wants a full matrix.
    private static int columns(int charts) {
        return charts == 4 ? 2 : charts;
    }

    /** The charts of {@link #throughput}, not drawn yet. */
    List<CategoryChart> throughputCharts(String store) {
        Map<String, Color> colors =
                colors(entrants(store, PANELS.stream().map(Panel::workload).toList()));
        Map<Panel, Map<String, Double>> rates = new LinkedHashMap<>();
        for (Panel panel : PANELS) {
            Map<String, Double> ran = rates(store, panel.workload(), colors.keySet());
            if (!ran.isEmpty()) {
                rates.put(panel, ran);
            }
        }
        if (rates.isEmpty()) {
            return List.of();
        }
        List<Double> all =
                rates.values().stream().flatMap(ran -> ran.values().stream()).toList();
        // Bars of a logarithmic axis begin somewhere: here at the power of ten below the shortest one.
        double least = Math.pow(10, Math.floor(Math.log10(Collections.min(all)) - 0.01));
        double most = Math.pow(10, Math.ceil(Math.log10(Collections.max(all))));
        List<CategoryChart> charts = new ArrayList<>();
        rates.forEach((panel, ran) -> {
            CategoryChart chart = bars(panel.title(), store, WIDTH / columns(rates.size()), ran, colors);
            chart.getStyler().setYAxisLogarithmic(true).setYAxisMin(least).setYAxisMax(most);
            charts.add(chart);
        });
        return charts;
    }

    private Map<String, Double> rates(String store, Workload workload, Set<String> labels) {
        Map<String, Double> ran = new LinkedHashMap<>();
        for (String label : labels) {
            double rate = results.median(new Key(store, label, workload), Outcome::perSecond);
            if (rate > 0) {
                ran.put(label, rate);
            }
        }
        return ran;
    }

    // Each entrant is a series with one bar: so it has its own colour, and the bars leave no gaps.
    private static CategoryChart bars(
            String title, String store, int width, Map<String, Double> values, Map<String, Color> colors) {
        CategoryChart chart = new CategoryChartBuilder()
                .width(width)
                .height(HEIGHT * 3 / 4)
                .title(title)
                .yAxisTitle(store + ": acquisitions per second")
                .build();
        style(chart.getStyler());
        chart.getStyler().setOverlapped(true).setAvailableSpaceFill(0.8).setLegendVisible(false);
        chart.getStyler()
                .setXAxisLabelRotation(45)
                .setAxisTickLabelsFont(chart.getStyler().getAxisTickLabelsFont().deriveFont(10f));
        List<String> names = List.copyOf(values.keySet());
        values.forEach((name, value) -> {
            List<Double> only = new ArrayList<>(Collections.nCopies(names.size(), null));
            only.set(names.indexOf(name), value);
            chart.addSeries(name, names, only).setFillColor(colorOf(name, colors));
        });
        return chart;
    }

    /** Requests to the server for each grant of Holdfast's, as more clients wait, on all stores that count them. */
    public List<Path> herd() throws IOException {
        XYChart chart = herdChart("Holdfast: requests to the server for each grant");
        List<String> stores = results.keys().stream()
                .filter(key -> key.label().equals(OURS) && isCounted(key))
                .map(Key::store)
                .limit(COLORS.size())
                .toList();
        for (String store : stores) {
            addHerd(chart, store, store, OURS, COLORS.get(stores.indexOf(store)));
        }
        return saved(chart, "herd");
    }

    /** Requests to the server for each grant, as more clients wait. Empty if Holdfast alone was counted. */
    public List<Path> herd(String store) throws IOException {
        XYChart chart = herdChart(store + ": requests to the server for each grant");
        List<String> shown = entrants(store, List.of(Workload.HERD_4)).stream()
                .filter(label -> isCounted(new Key(store, label, Workload.HERD_4)))
                .toList();
        if (shown.size() < 2) {
            return List.of();
        }
        Map<String, Color> colors = colors(shown);
        for (String label : shown) {
            addHerd(chart, label, store, label, colorOf(label, colors));
        }
        return saved(chart, "herd-" + store);
    }

    private boolean isCounted(Key key) {
        return key.workload() == Workload.HERD_4 && Double.isFinite(results.requestsEach(key));
    }

    private static XYChart herdChart(String title) {
        XYChart chart = lines(title, "clients that want the lock", "requests, logarithmic");
        chart.getStyler().setxAxisTickLabelsFormattingFunction(x -> Long.toString(Math.round(Math.pow(2, x))));
        return chart;
    }

    private void addHerd(XYChart chart, String name, String store, String label, Color color) {
        List<Double> x = new ArrayList<>();
        List<Double> y = new ArrayList<>();
        HERDS.entrySet().stream().sorted(Map.Entry.comparingByValue()).forEach(herd -> {
            double requests = results.requestsEach(new Key(store, label, herd.getKey()));
            if (Double.isFinite(requests) && requests > 0) {
                x.add(Math.log(herd.getValue()) / Math.log(2));
                y.add(requests);
            }
        });
        if (!x.isEmpty()) {
            add(chart, name, x, y, color).setMarker(SeriesMarkers.CIRCLE);
        }
    }

    /**
     * The entrants to show: Holdfast and the floor, then those that ran most of the store's workloads, in the order of
     * the tables.
     */
    List<String> entrants(String store, List<Workload> workloads) {
        List<Key> keys =
                results.keys().stream().filter(key -> key.store().equals(store)).toList();
        Comparator<String> ours = Comparator.comparing(label -> !label.equals(OURS));
        return keys.stream()
                .filter(key -> workloads.contains(key.workload()))
                .map(Key::label)
                .distinct()
                .sorted(ours.thenComparing(label -> !label.startsWith(FLOOR))
                        .thenComparing(label -> -keys.stream()
                                .filter(key -> key.label().equals(label))
                                .count()))
                .limit(COLORS.size())
                .toList();
    }

    // Holdfast and the first floor have the same colors in all pictures.
    private static Map<String, Color> colors(List<String> entrants) {
        Map<String, Color> colors = new LinkedHashMap<>();
        List<Color> free = new ArrayList<>(COLORS);
        for (String label : entrants) {
            Color known = label.equals(OURS) ? COLOR_OF_OURS : label.startsWith(FLOOR) ? COLOR_OF_FLOOR : free.get(0);
            Color color = free.contains(known) ? known : free.get(0);
            free.remove(color);
            colors.put(label, color);
        }
        return colors;
    }

    private static Color colorOf(String label, Map<String, Color> colors) {
        return Objects.requireNonNull(colors.get(label));
    }

    private static XYChart lines(String title, String x, String y) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(x)
                .yAxisTitle(y)
                .build();
        style(chart.getStyler());
        chart.getStyler().setLegendPosition(LegendPosition.OutsideE);
        chart.getStyler().setYAxisLogarithmic(true);
        return chart;
    }

    private static XYSeries add(XYChart chart, String name, List<Double> x, List<Double> y, Color color) {
        XYSeries line = chart.addSeries(name, x, y);
        line.setMarkerColor(color)
                .setLineColor(color)
                .setLineStyle(new BasicStroke(color.equals(COLOR_OF_OURS) ? 3f : 1.5f));
        return line;
    }

    static void style(AxesChartStyler styler) {
        styler.setChartBackgroundColor(Color.WHITE);
        styler.setPlotGridLinesColor(new Color(0xe0, 0xe0, 0xe0));
        styler.setPlotBorderVisible(false);
    }

    private List<Path> saved(XYChart chart, String name) throws IOException {
        if (chart.getSeriesMap().isEmpty()) {
            return List.of();
        }
        Path file = folder.resolve(name + ".png");
        BitmapEncoder.saveBitmap(chart, file.toString(), BitmapFormat.PNG);
        return List.of(file);
    }
}
