/**
 * What a lock costs. {@link dev.holdfast.benchmarks.SideBySide} runs Holdfast, its peers and bare floors on servers that it
 * starts, {@link dev.holdfast.benchmarks.Report} makes tables and plots of the results, {@link
 * dev.holdfast.benchmarks.Growth} shows how costs grow. {@code EmbeddedFigures} measures the embedded store, and JMH
 * benchmarks ({@link dev.holdfast.benchmarks.InProcess}) the costs inside the JVM; the package {@code election} measures how long
 * there is no leader, and {@code soak} what is left after a long run. The workloads are those of {@code
 * dev.holdfast.workload}.
 */
@NullMarked
package dev.holdfast.benchmarks;

import org.jspecify.annotations.NullMarked;
