package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver;
import dev.holdfast.micrometer.HoldfastMetrics;
import dev.holdfast.micrometer.LockGroups;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The locks of an application that has metrics are measured. */
class HoldfastMetricsAutoConfigurationTest {

    private final ApplicationContextRunner without = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    LockedAutoConfiguration.class,
                    HoldfastMetricsAutoConfiguration.class,
                    MetricsAutoConfiguration.class,
                    CompositeMeterRegistryAutoConfiguration.class))
            .withPropertyValues("holdfast.url=memory:");
    private final ApplicationContextRunner with = without.withBean(SimpleMeterRegistry.class);

    @Test
    void locksAreMeasured() {
        with.run(context -> {
            assertThat(context.getBean(Holdfast.class).lock("order:7").tryAcquire())
                    .isPresent();
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            assertThat(registry.get("holdfast.acquire")
                            .tags("store", "memory", "lock", "order:*")
                            .timer()
                            .count())
                    .isEqualTo(1);
            assertThat(registry.get("holdfast.held").gauge().value()).isEqualTo(1);
        });
    }

    @Test
    void theApplicationMayGroupTheNames() {
        with.withBean(LockGroups.class, LockGroups::byName).run(context -> {
            assertThat(context.getBean(Holdfast.class).lock("order:7").tryAcquire())
                    .isPresent();
            assertThat(context.getBean(MeterRegistry.class)
                            .get("holdfast.acquire")
                            .tag("lock", "order:7")
                            .timer()
                            .count())
                    .isEqualTo(1);
        });
    }

    @Test
    void whoHeldTheLockIsLookedForIfTheKeySaysSo() {
        with.withPropertyValues("holdfast.metrics.held-by=true").run(context -> {
            context.getBean(HoldfastMetrics.class)
                    .acquireEnded("a", LockObserver.Kind.MUTEX, LockObserver.Outcome.ACQUIRED, Duration.ofSeconds(1));
            assertThat(context.getBean(MeterRegistry.class)
                            .get("holdfast.wait")
                            .tag("held.by", "unknown")
                            .timer()
                            .count())
                    .isEqualTo(1);
        });
    }

    @Test
    void withoutARegistryOrTheModuleNothingIsMeasured() {
        new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastMetricsAutoConfiguration.class))
                .withPropertyValues("holdfast.url=memory:")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastMetrics.class));
        with.withClassLoader(new FilteredClassLoader(HoldfastMetrics.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastMetrics"));
    }
}
