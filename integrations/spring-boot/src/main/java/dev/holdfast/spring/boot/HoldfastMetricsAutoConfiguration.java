package dev.holdfast.spring.boot;

import dev.holdfast.Holdfast;
import dev.holdfast.micrometer.HoldfastMetrics;
import dev.holdfast.micrometer.LockGroups;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Measures the locks if the application has a {@link MeterRegistry} and {@code holdfast-micrometer}. A bean of the type {@link
 * LockGroups} says how the names of locks are grouped.
 */
@AutoConfiguration(
        before = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass({MeterRegistry.class, HoldfastMetrics.class})
@ConditionalOnBean(MeterRegistry.class)
@EnableConfigurationProperties(HoldfastMetricsProperties.class)
public final class HoldfastMetricsAutoConfiguration {

    /** So many labels of holders are told apart. Each is a time series for each group of names. */
    private static final int MOST_HOLDERS = 20;

    @Bean
    @ConditionalOnMissingBean
    HoldfastMetrics holdfastMetrics(
            MeterRegistry registry, ObjectProvider<LockGroups> groups, HoldfastMetricsProperties properties) {
        LockGroups names = groups.getIfAvailable(LockGroups::byPattern);
        return properties.heldBy()
                ? new HoldfastMetrics(registry, names, LockGroups.byName().withMost(MOST_HOLDERS))
                : new HoldfastMetrics(registry, names);
    }

    // The client is given its observers when it is made, and only then there is something to count.
    @Bean
    SmartInitializingSingleton holdfastGauges(HoldfastMetrics metrics, ObjectProvider<Holdfast> locks) {
        return () -> locks.ifUnique(metrics::bindTo);
    }
}
