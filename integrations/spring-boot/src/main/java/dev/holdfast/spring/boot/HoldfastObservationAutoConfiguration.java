package dev.holdfast.spring.boot;

import dev.holdfast.Holdfast;
import dev.holdfast.micrometer.AcquireConvention;
import dev.holdfast.micrometer.HoldfastObservations;
import dev.holdfast.micrometer.LockGroups;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * Observes acquisitions if the application has an {@link ObservationRegistry} and {@code holdfast-micrometer}. Beans of the types {@link
 * LockGroups} and {@link AcquireConvention} say how they are called.
 */
@AutoConfiguration(
        before = HoldfastAutoConfiguration.class,
        afterName = "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration")
@ConditionalOnClass({ObservationRegistry.class, HoldfastObservations.class})
@ConditionalOnBean(ObservationRegistry.class)
public final class HoldfastObservationAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    HoldfastObservations holdfastObservations(
            ObservationRegistry registry,
            ObjectProvider<LockGroups> groups,
            ObjectProvider<AcquireConvention> convention) {
        return new HoldfastObservations(
                registry, groups.getIfAvailable(LockGroups::byPattern), convention.getIfAvailable());
    }

    // The client is given its observers when it is made, and only then its store is known.
    @Bean
    SmartInitializingSingleton holdfastObservedStore(
            HoldfastObservations observations, ObjectProvider<Holdfast> locks) {
        return () -> locks.ifUnique(observations::bindTo);
    }
}
