/** How long an election is without a leader: {@link dev.holdfast.benchmarks.election.FailOver} measures it, beside Curator's recipes. */
@NullMarked
package dev.holdfast.benchmarks.election;

import org.jspecify.annotations.NullMarked;
