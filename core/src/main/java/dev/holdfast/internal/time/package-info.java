/**
 * When something is due: the agendas of losses and of renewals, and the waits between attempts. Uses the SPI only; what is
 * due is an {@link dev.holdfast.internal.time.Alarm} or a {@link dev.holdfast.internal.time.Renewable}.
 */
@NullMarked
package dev.holdfast.internal.time;

import org.jspecify.annotations.NullMarked;
