package dev.holdfast.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.workload.Fields;
import dev.holdfast.workload.Workload;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategorySeries;

/** What the pictures show, of more entrants than there is room for. */
class PlotsTest {

    private static final List<String> PEERS = List.of("a", "b", "c", "d", "e", "floor", "holdfast");

    @TempDir
    private Path folder;

    private final Results results = new Results();

    @BeforeEach
    void peersRun() {
        PEERS.forEach(peer -> ran(peer, Workload.FREE));
        for (String peer : List.of("e", "holdfast", "d")) {
            ran(peer, Workload.THREADS);
        }
        ran("d", Workload.PROCESSES);
        for (Workload herd : List.of(Workload.HERD_4, Workload.HERD_16, Workload.HERD_64)) {
            ran("holdfast", herd);
        }
    }

    private void ran(String peer, Workload workload) {
        results.add(new Fields()
                .with("kind", "timed")
                .with("store", "redis")
                .with("label", peer)
                .with("workload", workload.option())
                .with("nanos", 1_000_000_000)
                .with("operations", 5_000)
                .with("requests", 15_000)
                .with("pairs", List.of(9_000L, 64L, 5L, 200L, 3L))
                .with("waits", List.of(9_000L, 64L, 5L)));
    }

    @Test
    void sixEntrantsAreShownThatRanMost() throws IOException {
        Plots plots = new Plots(results, folder);
        assertThat(plots.entrants("redis", List.of(Workload.FREE)))
                .containsExactly("holdfast", "floor", "d", "e", "a", "b");
        assertThat(plots.entrants("redis", List.of(Workload.PROCESSES))).containsExactly("d");
    }

    // Charts are looked at before they are drawn: drawing needs fonts, which a machine may not have.
    @Test
    void eachBarHasAColorOfItsOwnAndNoGapBesideIt() throws IOException {
        List<CategoryChart> charts = new Plots(results, folder).throughputCharts("redis");
        assertThat(charts)
                .extracting(chart -> List.copyOf(chart.getSeriesMap().keySet()))
                .containsExactly(
                        List.of("holdfast", "floor", "d", "e", "a", "b"), List.of("holdfast", "d", "e"), List.of("d"));
        for (CategoryChart chart : charts) {
            List<CategorySeries> bars = List.copyOf(chart.getSeriesMap().values());
            assertThat(bars).extracting(CategorySeries::getFillColor).doesNotHaveDuplicates();
            assertThat(chart.getStyler().isOverlapped()).isTrue();
            for (int i = 0; i < bars.size(); i++) {
                // One place on the axis for each entrant that ran, and one bar at each place.
                assertThat(List.copyOf(bars.get(i).getXData()))
                        .isEqualTo(List.copyOf(chart.getSeriesMap().keySet()));
                assertThat(bars.get(i).getYData().stream()
                                .filter(Objects::nonNull)
                                .count())
                        .isEqualTo(1);
                assertThat(new ArrayList<>(bars.get(i).getYData()).get(i)).isEqualTo(5_000.0);
            }
        }
        assertThat(colorOf("d", charts.get(0))).isEqualTo(colorOf("d", charts.get(2)));
    }

    private static Color colorOf(String peer, CategoryChart chart) {
        return chart.getSeriesMap().get(peer).getFillColor();
    }

    @Test
    void whatWasNotRunOrNotComparedHasNoPicture() throws IOException {
        Plots plots = new Plots(results, folder);
        assertThat(plots.latency("etcd")).isEmpty();
        assertThat(plots.throughput("etcd")).isEmpty();
        assertThat(plots.herd("redis")).as("Holdfast alone").isEmpty();
    }
}
