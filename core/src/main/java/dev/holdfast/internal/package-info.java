/**
 * The engine: local queues, re-entry, waiting, renewal, loss and events, written once for all stores.
 *
 * <p>A map for maintainers, from the outside in; each room uses those below it only:
 *
 * <ul>
 *   <li>{@code lock} and {@code election}: the faces of the API;
 *   <li>{@code acquire}: one acquisition, of one name or of several, by a thread or a future;
 *   <li>{@code cohort}: the lock of one name in this JVM, with its queue and its claim in the store;
 *   <li>{@code hold}: what was granted, who shares it, and how it ends or is lost;
 *   <li>{@code calls}: how the store is asked and its failures are repeated; {@code time}: when something is due.
 * </ul>
 *
 * <p>{@link dev.holdfast.internal.Engine}, in this package, is what all of them share: it owns the threads.
 *
 * <p>Times in here are {@code long} nanoseconds since the engine's start, so that they compare with {@code <}.
 */
@NullMarked
package dev.holdfast.internal;

import org.jspecify.annotations.NullMarked;
