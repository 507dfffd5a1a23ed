/**
 * Everything at once, on all stores at once, for minutes or hours, and what is left afterwards: {@link
 * dev.holdfast.benchmarks.soak.Soak} is the program, {@link dev.holdfast.benchmarks.soak.Census} counts.
 */
@NullMarked
package dev.holdfast.benchmarks.soak;

import org.jspecify.annotations.NullMarked;
