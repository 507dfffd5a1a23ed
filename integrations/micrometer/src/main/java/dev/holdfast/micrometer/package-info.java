/** Metrics of locks. Begin with {@link dev.holdfast.micrometer.HoldfastMetrics}. */
@NullMarked
package dev.holdfast.micrometer;

import org.jspecify.annotations.NullMarked;
