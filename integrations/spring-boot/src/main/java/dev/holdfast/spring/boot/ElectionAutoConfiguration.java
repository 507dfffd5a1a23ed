package dev.holdfast.spring.boot;

import dev.holdfast.Holdfast;
import dev.holdfast.spring.ElectionBean;
import java.util.Objects;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;

/** Lets the application stand for the election that {@code holdfast.election.name} names. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnBean(Holdfast.class)
@Conditional(ElectionAutoConfiguration.NameIsSet.class)
@EnableConfigurationProperties(HoldfastProperties.class)
public final class ElectionAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "holdfastElection")
    ElectionBean holdfastElection(Holdfast locks, HoldfastProperties properties) {
        HoldfastProperties.Election keys = properties.election();
        return new ElectionBean(
                locks,
                Objects.requireNonNull(keys.name()),
                keys.options(properties.storeTimeout()),
                keys.autoStartup(),
                SmartLifecycle.DEFAULT_PHASE);
    }

    static final class NameIsSet extends KeyIsSet {

        NameIsSet() {
            super("holdfast.election.name");
        }
    }
}
