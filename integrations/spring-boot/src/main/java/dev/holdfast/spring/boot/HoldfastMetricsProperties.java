package dev.holdfast.spring.boot;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The keys below {@code holdfast.metrics}.
 *
 * @param heldBy whether waits are told apart by the label of the application that held the lock. It costs a request to the store
 *     for each lock that is waited for.
 */
@ConfigurationProperties("holdfast.metrics")
public record HoldfastMetricsProperties(
        @DefaultValue("false") boolean heldBy) {}
