/**
 * Calls of the store: how their answers are awaited, how they are repeated, how releases are sent, and the questions that
 * change nothing here. Uses {@code time} and the SPI.
 */
@NullMarked
package dev.holdfast.internal.calls;

import org.jspecify.annotations.NullMarked;
