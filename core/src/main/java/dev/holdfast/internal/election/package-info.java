/**
 * Elections, over the lease of a mutex. They use the engine as users do, but for the label of the claim and the notice of a loss.
 * Uses {@code acquire} and below.
 */
@NullMarked
package dev.holdfast.internal.election;

import org.jspecify.annotations.NullMarked;
