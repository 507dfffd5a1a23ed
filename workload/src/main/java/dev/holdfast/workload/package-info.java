/**
 * Workloads that measure what a lock costs: several threads in several processes, on any lock that has an {@link
 * dev.holdfast.workload.Subject}. The tool's {@code bench} runs them on the user's store, the module {@code
 * benchmarks} on Holdfast and its peers side by side. No part of the library.
 *
 * <p>A {@link dev.holdfast.workload.Crew} is a number of worker processes for one subject. Each executes {@link
 * dev.holdfast.workload.Worker orders}, one at a time, and answers with its figures, which an {@link
 * dev.holdfast.workload.Outcome} puts together.
 */
@NullMarked
package dev.holdfast.workload;

import org.jspecify.annotations.NullMarked;
