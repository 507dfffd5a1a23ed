/**
 * Metrics and observations of locks. Begin with {@link dev.holdfast.micrometer.HoldfastMetrics} and {@link
 * dev.holdfast.micrometer.HoldfastObservations}.
 */
@NullMarked
package dev.holdfast.micrometer;

import org.jspecify.annotations.NullMarked;
