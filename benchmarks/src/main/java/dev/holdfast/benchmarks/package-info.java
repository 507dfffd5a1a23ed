/**
 * What a lock costs. Programs with a main method measure whole workloads on a store ({@code EmbeddedFigures}), JMH
 * benchmarks the costs inside the JVM.
 */
@NullMarked
package dev.holdfast.benchmarks;

import org.jspecify.annotations.NullMarked;
