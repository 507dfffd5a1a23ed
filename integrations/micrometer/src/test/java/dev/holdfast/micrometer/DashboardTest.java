package dev.holdfast.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver.Kind;
import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.LockObserver.Request;
import dev.holdfast.LossReason;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The dashboard and the page show metrics that exist, by the names that Prometheus gives them. */
class DashboardTest {

    private static final Path DOCS = Path.of("../../docs");
    private static final Pattern METRIC = Pattern.compile("\\bholdfast_[a-z_]+");
    private static final Pattern SERIES = Pattern.compile("(?m)^(holdfast_[a-z_]+)[{ ]");

    private static Set<String> published() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        HoldfastMetrics metrics = new HoldfastMetrics(registry);
        try (Holdfast locks = metrics.connect(Holdfast.builder().url("memory:"))) {
            Duration time = Duration.ofSeconds(1);
            metrics.acquireEnded("a", Kind.MUTEX, Outcome.ACQUIRED, time);
            metrics.released("a", time);
            metrics.handedOff("a", 1);
            metrics.renewed(2, 1, time);
            metrics.renewalLate("a", time);
            metrics.requestEnded(Request.RENEW, false, time);
            metrics.lost("a", LossReason.EXPIRED);
            return SERIES.matcher(registry.scrape())
                    .results()
                    .map(found -> found.group(1))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static Set<String> named(String text) {
        return METRIC.matcher(text)
                .results()
                .map(found -> found.group())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void everyPanelShowsMetricsThatExist() throws IOException {
        JsonObject dashboard = JsonParser.parseString(Files.readString(DOCS.resolve("observability/grafana.json")))
                .getAsJsonObject();
        Set<String> published = published();
        assertThat(dashboard.getAsJsonArray("panels")).hasSizeGreaterThan(5);
        for (JsonElement panel : dashboard.getAsJsonArray("panels")) {
            for (JsonElement target : panel.getAsJsonObject().getAsJsonArray("targets")) {
                String query = target.getAsJsonObject().get("expr").getAsString();
                assertThat(named(query)).as(query).isNotEmpty().isSubsetOf(published);
            }
        }
    }

    @Test
    void thePageNamesMetricsThatExist() throws IOException {
        assertThat(named(Files.readString(DOCS.resolve("observability.md"))))
                .isNotEmpty()
                .isSubsetOf(published());
    }
}
