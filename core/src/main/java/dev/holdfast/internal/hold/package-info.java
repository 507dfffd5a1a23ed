/**
 * What this JVM has been granted: {@link dev.holdfast.internal.hold.Grant} is what the store gave, {@link
 * dev.holdfast.internal.hold.Hold} is the share of it that one user has. Here a renewal that fails becomes a loss ({@code
 * Grant.renewed} and {@code Grant.examine}), and a hold ends. Uses {@code time} and {@code calls}; the lock of the name, to
 * which a grant belongs, is a {@link dev.holdfast.internal.hold.GrantHome}.
 */
@NullMarked
package dev.holdfast.internal.hold;

import org.jspecify.annotations.NullMarked;
