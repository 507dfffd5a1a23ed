package dev.holdfast.benchmarks.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** The picture of a long run, from the file of figures that it has written: how each figure went as time passed. */
public final class CoursePlots {

    private static final int WIDTH = 600;
    private static final int HEIGHT = 320;
    private static final int COLUMNS = 2;
    private static final double SECONDS_PER_MINUTE = 60;
    private static final List<Color> COLORS = List.of(
            new Color(0x0b, 0x6e, 0x4f),
            new Color(0xd9, 0x5f, 0x02),
            new Color(0x1f, 0x78, 0xb4),
            new Color(0xe6, 0xab, 0x02),
            new Color(0xe7, 0x29, 0x8a),
            new Color(0x66, 0x66, 0x66),
            new Color(0x75, 0x70, 0xb3),
            new Color(0xa6, 0x76, 0x1d),
            new Color(0x1b, 0xc4, 0xd0),
            new Color(0xb2, 0x18, 0x2b));

    private final List<String> columns;
    private final List<String[]> rows;

    private CoursePlots(List<String> lines) {
        this.columns = List.of(lines.get(0).split(","));
        this.rows = lines.stream().skip(1).map(line -> line.split(",", -1)).toList();
    }

    /** Draws all figures of a file. */
    public static void write(Path figures, Path picture) throws IOException {
        CoursePlots plots = new CoursePlots(Files.readAllLines(figures));
        List<XYChart> charts = List.of(
                plots.chart("Heap", "MB", List.of("heapMb", "heapAfterGcMb"), false),
                plots.chart("Threads and file handles of the client process", "", List.of("threads", "handles"), false),
                plots.chart("Connections to the server", "", plots.ending(".connections"), false),
                plots.chart("Requests to the server in a second", "", plots.ending(".requests"), true),
                plots.chart("Keys, rows, nodes, idle ones included", "", plots.ending(".entries"), false),
                plots.chart("Deeds in a second", "", List.of("operations"), true));
        BitmapEncoder.saveBitmap(charts, charts.size() / COLUMNS, COLUMNS, picture.toString(), BitmapFormat.PNG);
    }

    private List<String> ending(String suffix) {
        return columns.stream().filter(column -> column.endsWith(suffix)).toList();
    }

    // A figure that only grows is shown as how much it grew in a second.
    private XYChart chart(String title, String unit, List<String> names, boolean isRate) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle("minutes")
                .yAxisTitle(unit)
                .build();
        Plots.style(chart.getStyler());
        chart.getStyler().setYAxisMin(0.0).setLegendPosition(LegendPosition.OutsideE);
        for (String name : names) {
            addTo(chart, name, isRate);
        }
        return chart;
    }

    private void addTo(XYChart chart, String name, boolean isRate) {
        int column = columns.indexOf(name);
        List<Double> x = new ArrayList<>();
        List<Double> y = new ArrayList<>();
        double[] last = null;
        for (String[] row : rows) {
            if (!row[column].isEmpty()) {
                double[] now = {Double.parseDouble(row[0]), Double.parseDouble(row[column])};
                if (!isRate || (last != null && now[0] > last[0])) {
                    x.add(now[0] / SECONDS_PER_MINUTE);
                    y.add(isRate && last != null ? (now[1] - last[1]) / (now[0] - last[0]) : now[1]);
                }
                last = now;
            }
        }
        if (!x.isEmpty()) {
            String label = Arrays.asList(name.split("\\.")).get(0);
            Color color = COLORS.get(chart.getSeriesMap().size() % COLORS.size());
            chart.addSeries(label, x, y)
                    .setMarker(SeriesMarkers.NONE)
                    .setLineColor(color)
                    .setLineStyle(new BasicStroke(1.5f));
        }
    }
}
