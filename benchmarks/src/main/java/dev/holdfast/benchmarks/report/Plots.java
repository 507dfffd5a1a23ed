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
import java.util.List;
import java.util.TreeMap;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.Marker;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** The pictures, as PNG files in a folder. Holdfast's line or bar has the same colour everywhere. */
public final class Plots {

    private static final int WIDTH = 900;
    private static final int HEIGHT = 460;
    private static final Color OURS = new Color(0x0b, 0x6e, 0x4f);
    private static final List<Marker> MARKERS = List.of(
            SeriesMarkers.CIRCLE,
            SeriesMarkers.SQUARE,
            SeriesMarkers.DIAMOND,
            SeriesMarkers.TRIANGLE_UP,
            SeriesMarkers.TRIANGLE_DOWN,
            SeriesMarkers.CROSS);
    private static final List<Color> OTHERS = List.of(
            new Color(0xd9, 0x5f, 0x02),
            new Color(0x75, 0x70, 0xb3),
            new Color(0x1f, 0x78, 0xb4),
            new Color(0xe7, 0x29, 0x8a),
            new Color(0xa6, 0x76, 0x1d),
            new Color(0x66, 0x66, 0x66),
            new Color(0x66, 0xa6, 0x1e),
            new Color(0xb1, 0x59, 0x28),
            new Color(0xe6, 0xab, 0x02));

    private final Results results;
    private final Path folder;

    public Plots(Results results, Path folder) throws IOException {
        this.results = results;
        this.folder = Files.createDirectories(folder);
    }

    /** How long acquire and release of a free lock took, from the median to the rarest. Empty if no entrant ran. */
    public List<Path> latency(String store) throws IOException {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(store + ": acquire and release of a free lock")
                .xAxisTitle("share of the pairs that took longer")
                .yAxisTitle("microseconds")
                .build();
        style(chart.getStyler());
        chart.getStyler().setYAxisLogarithmic(true);
        chart.getStyler().setxAxisTickLabelsFormattingFunction(Plots::share);
        List<Key> keys = of(store, Workload.FREE);
        for (Key key : keys) {
            Histogram times = results.all(key, Outcome::pairs);
            List<Double> x = new ArrayList<>();
            List<Double> y = new ArrayList<>();
            for (double rest = 1; rest * times.count() >= 1 && rest >= 1e-5; rest /= 1.5) {
                // The rare ones are on the right.
                x.add(-Math.log10(rest));
                y.add(times.at(1 - rest) / 1e3);
            }
            if (x.size() > 2) {
                chart.addSeries(key.label(), x, y)
                        .setMarker(SeriesMarkers.NONE)
                        .setLineColor(color(keys, key))
                        .setLineStyle(new BasicStroke(key.label().equals("holdfast") ? 3f : 1.5f));
            }
        }
        return chart.getSeriesMap().isEmpty() ? List.of() : List.of(save(chart, "latency-" + store));
    }

    // The axis is linear and its values are exponents: the library's own logarithmic axis passes odd values to the
    // labels.
    private static String share(double exponent) {
        return String.format(java.util.Locale.ROOT, "%.2g %%", 100 / Math.pow(10, exponent))
                .replace("1.0e+02", "100");
    }

    /** The throughput as more threads want the same lock. */
    public List<Path> throughput(String store) throws IOException {
        List<Workload> workloads = List.of(Workload.FREE, Workload.FREE_16, Workload.THREADS, Workload.PROCESSES);
        List<String> names =
                List.of("1 thread", "16 threads, 16 locks", "16 threads, 1 lock", "4 processes x 4, 1 lock");
        CategoryChart chart = new CategoryChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(store + ": acquisitions per second")
                .yAxisTitle("per second, logarithmic")
                .build();
        style(chart.getStyler());
        chart.getStyler().setYAxisLogarithmic(true).setYAxisMin(10.0);
        chart.getStyler().setAvailableSpaceFill(0.9);
        List<Key> shown = new ArrayList<>();
        for (Key key : results.keys()) {
            if (key.store().equals(store)
                    && workloads.contains(key.workload())
                    && shown.stream().noneMatch(other -> other.label().equals(key.label()))) {
                shown.add(key);
            }
        }
        for (Key key : shown) {
            List<Double> rates = new ArrayList<>();
            for (Workload workload : workloads) {
                double rate = results.median(new Key(store, key.label(), workload), Outcome::perSecond);
                // The axis is logarithmic: an entrant that did not run gets a bar of no height.
                rates.add(rate > 10 ? rate : 10);
            }
            chart.addSeries(key.label(), names, rates).setFillColor(color(shown, key));
        }
        return shown.isEmpty() ? List.of() : List.of(save(chart, "throughput-" + store));
    }

    /** Requests to the server for each grant, as more clients wait. */
    public List<Path> herd() throws IOException {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title("Requests to the server for each grant")
                .xAxisTitle("clients that want the lock")
                .yAxisTitle("requests, logarithmic")
                .build();
        style(chart.getStyler());
        chart.getStyler().setYAxisLogarithmic(true);
        chart.getStyler().setxAxisTickLabelsFormattingFunction(x -> Long.toString(Math.round(Math.pow(2, x))));
        TreeMap<Integer, Workload> herds =
                new TreeMap<>(java.util.Map.of(4, Workload.HERD_4, 16, Workload.HERD_16, 64, Workload.HERD_64));
        List<Key> keys = results.keys().stream()
                .filter(key -> key.workload() == Workload.HERD_4)
                .toList();
        int others = 0;
        int stores = 0;
        for (Key key : keys) {
            List<Double> x = new ArrayList<>();
            List<Double> y = new ArrayList<>();
            herds.forEach((clients, herd) -> {
                double requests = results.requestsEach(new Key(key.store(), key.label(), herd));
                if (Double.isFinite(requests) && requests > 0) {
                    x.add(Math.log(clients) / Math.log(2));
                    y.add(requests);
                }
            });
            if (!x.isEmpty()) {
                boolean ours = key.label().startsWith("holdfast");
                Color color = ours ? OURS : OTHERS.get(others++ % OTHERS.size());
                XYSeries line = chart.addSeries(key.store() + " " + key.label(), x, y);
                line.setMarkerColor(color);
                line.setLineColor(color);
                line.setLineStyle(new BasicStroke(ours ? 3f : 1.5f));
                if (ours) {
                    // All stores have one colour and are distinguished by their marks.
                    line.setMarker(MARKERS.get(stores++ % MARKERS.size()));
                }
            }
        }
        return chart.getSeriesMap().isEmpty() ? List.of() : List.of(save(chart, "herd"));
    }

    private List<Key> of(String store, Workload workload) {
        return results.keys().stream()
                .filter(key -> key.store().equals(store) && key.workload() == workload)
                .toList();
    }

    private static Color color(List<Key> keys, Key key) {
        if (key.label().equals("holdfast")) {
            return OURS;
        }
        return OTHERS.get(keys.indexOf(key) % OTHERS.size());
    }

    private static void style(AxesChartStyler styler) {
        styler.setLegendPosition(LegendPosition.OutsideE);
        styler.setChartBackgroundColor(Color.WHITE);
        styler.setPlotGridLinesColor(new Color(0xe0, 0xe0, 0xe0));
        styler.setPlotBorderVisible(false);
    }

    private Path save(Chart<?, ?> chart, String name) throws IOException {
        Path file = folder.resolve(name + ".png");
        BitmapEncoder.saveBitmap(chart, file.toString(), BitmapFormat.PNG);
        return file;
    }
}
